//! Containers, clusters and clouds.

use super::Sign::{Global, Prefix, Short};
use super::{DELETE, Group, LOAD, OPTIONS, RUN, SEND, VERB, WRITE, exact, long};

super::groups! {
    ["ansible" "ansible-playbook"] [] RUN [
        Short('a'), Short('m'), Short('M'), Short('b'), Short('e'), long("--become"),
        long("--extra-vars"), long("--module-path"), long("--ssh-common-args"),
        long("--ssh-extra-args"), long("--scp-extra-args"), long("--sftp-extra-args"),
        long("--args"), long("--module-name"), long("--playbook-dir"),
        long("--vault-password-file"), long("--connection"), Short('i'), Short('c')
    ];
    ["aws"] [] SEND [
        long("--endpoint-url"), long("--profile"), long("--cli-input-json"),
        long("--cli-input-yaml"), long("--ca-bundle")
    ];
    ["docker" "nerdctl"] ["run" "create" "container"] WRITE [Short('v')];
    ["docker" "nerdctl"] ["run" "create" "exec" "container" "service" "compose"] RUN [
        exact("--volume"), exact("--mount"), exact("--volumes-from"), exact("--device"),
        exact("--privileged"), exact("--cap-add"), exact("--security-opt"), exact("--pid"),
        exact("--ipc"), exact("--userns"), exact("--uts"), exact("--cgroupns"),
        exact("--cgroup-parent"), exact("--network"), exact("--net"), exact("--runtime"),
        exact("--cidfile"), exact("--device-cgroup-rule"), exact("--use-api-socket"),
        exact("--rootfs"), exact("--secret"), exact("--hooks-dir"), exact("--conmon-pidfile"),
        exact("--pidfile"), exact("--authfile")
    ];
    ["docker" "nerdctl"] ["build" "buildx" "image" "builder" "bake"] RUN [
        exact("--output"), exact("--build-context"), exact("--secret"), exact("--ssh"),
        exact("--allow"), exact("--iidfile"), exact("--metadata-file"), exact("--cache-to"),
        exact("--security-opt"), exact("--network")
    ];
    ["docker" "nerdctl"] ["build" "save" "export" "image" "buildx" "builder"] WRITE [Short('o')];
    ["docker" "nerdctl"] ["save" "export"] WRITE [exact("--output")];
    ["docker" "nerdctl"] [] SEND [
        Global("-H"), Global("--host"), Global("-c"), Global("--context")
    ];
    ["docker" "nerdctl"] [] OPTIONS [Global("--config")];
    ["docker-compose"] [] LOAD [
        Short('f'), exact("--file"), exact("--project-directory"), exact("--env-file"),
        exact("--host"), exact("--context"), Short('v'), exact("--volume"), exact("--cap-add"),
        exact("--privileged")
    ];
    ["docker" "nerdctl" "podman"] ["compose"] LOAD [
        Short('f'), exact("--file"), exact("--project-directory"), exact("--env-file"), Short('v')
    ];
    ["gcloud"] [] SEND [
        long("--flags-file"), long("--account"), long("--impersonate-service-account"),
        long("--configuration"), long("--access-token-file")
    ];
    ["helm"] [] RUN [exact("--post-renderer"), exact("--post-renderer-args")];
    ["helm"] [] SEND [
        exact("--kubeconfig"), exact("--kube-apiserver"), exact("--kube-context"),
        exact("--kube-token"), exact("--registry-config"), exact("--repository-config"),
        exact("--repository-cache")
    ];
    ["helm"] [] WRITE [exact("--output-dir"), exact("--destination"), exact("--untardir")];
    ["helm"] ["pull" "package"] WRITE [Short('d')];
    ["helm"] ["plugin"] LOAD [VERB];
    ["kubectl" "oc"] [] SEND [
        exact("--kubeconfig"), exact("--server"), exact("--token"), exact("--as"),
        exact("--as-group"), exact("--user"), exact("--cluster"), exact("--context"),
        exact("--insecure-skip-tls-verify"), exact("--cache-dir"), exact("--profile-output"),
        exact("--certificate-authority"), exact("--raw"), Prefix("-s")
    ];
    ["kubectl" "oc"] [] WRITE [exact("--output-directory")];
    ["kubectl" "oc"] [] DELETE [exact("--force"), exact("--prune")];
    ["kubectl" "oc"] ["kustomize"] RUN [
        exact("--enable-helm"), exact("--helm-command"), exact("--enable-alpha-plugins"),
        exact("--enable-exec")
    ];
    ["kustomize"] [] WRITE [Short('o'), exact("--output")];
    ["kustomize"] [] RUN [
        exact("--enable-helm"), exact("--helm-command"), exact("--enable-alpha-plugins"),
        exact("--enable-exec"), exact("--load-restrictor")
    ];
    ["podman"] ["run" "create" "container"] WRITE [Short('v')];
    ["podman"] ["run" "create" "exec" "container" "service" "compose"] RUN [
        exact("--volume"), exact("--mount"), exact("--volumes-from"), exact("--device"),
        exact("--privileged"), exact("--cap-add"), exact("--security-opt"), exact("--pid"),
        exact("--ipc"), exact("--userns"), exact("--uts"), exact("--cgroupns"),
        exact("--cgroup-parent"), exact("--network"), exact("--net"), exact("--runtime"),
        exact("--cidfile"), exact("--device-cgroup-rule"), exact("--use-api-socket"),
        exact("--rootfs"), exact("--secret"), exact("--hooks-dir"), exact("--conmon-pidfile"),
        exact("--pidfile"), exact("--authfile")
    ];
    ["podman"] ["build" "buildx" "image" "builder" "bake"] RUN [
        exact("--output"), exact("--build-context"), exact("--secret"), exact("--ssh"),
        exact("--allow"), exact("--iidfile"), exact("--metadata-file"), exact("--cache-to"),
        exact("--security-opt"), exact("--network")
    ];
    ["podman"] ["build" "save" "export" "image" "buildx" "builder"] WRITE [Short('o')];
    ["podman"] ["save" "export"] WRITE [exact("--output")];
    ["podman"] [] SEND [Global("-H"), Global("--host"), Global("-c"), Global("--context")];
    ["podman"] [] OPTIONS [Global("--config")];
    ["podman"] [] RUN [
        exact("--hooks-dir"), exact("--conmon"), exact("--runtime"), exact("--module"),
        exact("--network-cmd-path"), exact("--root"), exact("--runroot"), exact("--tmpdir"),
        exact("--storage-opt"), exact("--url"), exact("--connection"), exact("--identity"),
        exact("--remote")
    ];
    ["terraform" "tofu"] [] DELETE [
        Prefix("-auto-approve"), Prefix("--auto-approve"), Prefix("-destroy"), Prefix("--destroy")
    ];
    ["terraform" "tofu"] [] WRITE [
        Prefix("-out"), Prefix("--out"), Prefix("-state"), Prefix("--state"), Prefix("-state-out"),
        Prefix("--state-out"), Prefix("-backup"), Prefix("--backup"),
        Prefix("-generate-config-out"), Prefix("--generate-config-out")
    ];
    ["terraform" "tofu"] [] LOAD [
        Prefix("-plugin-dir"), Prefix("--plugin-dir"), Prefix("-chdir"), Prefix("--chdir"),
        Prefix("-from-module"), Prefix("--from-module")
    ];
}
