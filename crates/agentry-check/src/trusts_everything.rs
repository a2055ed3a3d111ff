//! AG9009: a manifest whose trust is unlimited on all three axes.

use agentry_policy::{ExecTrust, FilesystemTrust, NetworkTrust};
use agentry_text::{Findings, LintRule, rule};

use crate::{CheckSubject, RuleCheck};

pub(super) const CHECK: RuleCheck = RuleCheck { rule: &RULE, check };

static RULE: LintRule = rule!("AG9009");

fn check(subject: &CheckSubject<'_>, findings: &mut Findings) {
    let Some(trust) = &subject.agent.policy.trust else { return };
    let (Some(files), Some(network), Some(exec)) = (trust.filesystem, trust.network, trust.exec)
    else {
        return;
    };
    let everything = files.value == FilesystemTrust::Full
        && network.value == NetworkTrust::Allowed
        && exec.value == ExecTrust::Full;
    if everything {
        findings
            .add(&RULE, exec.span, "the agent may do whatever its user may")
            .related(files.span, "every file")
            .related(network.span, "every host")
            .hint("write `exec: sandboxed`, or close one of the other two");
    }
}

#[cfg(test)]
mod tests {
    use agentry_model::Agent;
    use agentry_policy::Trust;

    use super::*;
    use crate::testing::{at, count};

    #[test]
    fn only_full_trust_on_all_axes_is_reported() {
        for files in FilesystemTrust::ALL {
            for network in NetworkTrust::ALL {
                for exec in ExecTrust::ALL {
                    let mut agent = Agent::default();
                    agent.policy.trust = Some(Trust {
                        filesystem: Some(at(*files)),
                        network: Some(at(*network)),
                        exec: Some(at(*exec)),
                        scope: None,
                        hosts: None,
                    });
                    let all = (*files, *network, *exec)
                        == (FilesystemTrust::Full, NetworkTrust::Allowed, ExecTrust::Full);
                    let case = format!("{files} {network} {exec}");
                    assert_eq!(count(&CHECK, &agent), usize::from(all), "{case}");
                }
            }
        }
    }
}
