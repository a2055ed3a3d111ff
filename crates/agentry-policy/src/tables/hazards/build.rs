//! Compilers, build tools, package managers and test runners.

use super::Sign::{Global, Long, Prefix, Short, Unless, Word};
use super::harmless::{MAKE, NPM, TSC};
use super::{Group, LOAD, OPTIONS, RUN, VERB, WRITE, exact, long, one_dash};

super::groups! {
    ["bun"] [] RUN [
        exact("--preload"), exact("--require"), exact("--import"), exact("--eval"),
        exact("--print"), exact("--config"), exact("--cwd"), exact("--env-file"),
        exact("--outfile"), exact("--outdir"), exact("--inspect"), Short('r'), Short('e'),
        Short('p'), Short('c')
    ];
    ["bun"] ["x" "exec" "create"] RUN [VERB];
    ["bundle" "bundler"] ["exec" "e"] RUN [VERB];
    ["bundle" "bundler"] [] LOAD [
        long("--gemfile"), long("--path"), long("--binstubs"), long("--shebang")
    ];
    ["bazel" "bazelisk"] [] RUN [
        Prefix("--run_under"), Prefix("--script_path"), Prefix("--bazelrc"), Prefix("--override_"),
        Prefix("--host_jvm_args"), Prefix("--server_javabase")
    ];
    ["cargo"] [] RUN [exact("--config"), Short('Z'), Global("+")];
    ["cargo"] [] LOAD [exact("--manifest-path"), exact("--lockfile-path"), Short('C')];
    ["cargo"] [] WRITE [
        exact("--target-dir"), exact("--out-dir"), exact("--artifact-dir"), exact("--root")
    ];
    ["cargo"] ["rustc" "rustdoc"] RUN [VERB];
    ["cargo"] ["clippy" "fix"] WRITE [exact("--fix")];
    ["clang-format"] [] WRITE [Short('i')];
    ["clang-tidy"] [] WRITE [
        Prefix("-fix"), Prefix("--fix"), Prefix("-export-fixes"), Prefix("--export-fixes")
    ];
    ["clang-tidy"] [] LOAD [Prefix("-load"), Prefix("--load")];
    ["clang-tidy"] [] OPTIONS [Prefix("-config"), Prefix("--config"), Prefix("-p")];
    ["cmake"] [] RUN [
        Short('P'), Short('E'), Short('D'), Short('C'), exact("--open"), exact("--toolchain"),
        exact("--graphviz"), exact("--trace-redirect"), exact("--debugger")
    ];
    ["coverage"] [] WRITE [long("--rcfile"), long("--data-file"), Short('d'), Short('o')];
    ["ctest"] [] RUN [
        Short('S'), Short('D'), exact("--script"), exact("--build-and-test"), exact("--dashboard"),
        exact("--output-log"), exact("--output-junit")
    ];
    ["ctest"] [] WRITE [Short('O')];
    ["deno"] [] RUN [
        exact("--allow-all"), exact("--allow-run"), exact("--allow-write"), exact("--allow-ffi"),
        exact("--allow-env"), exact("--allow-net"), exact("--allow-read"), exact("--config"),
        exact("--import-map"), exact("--preload"), exact("--output"), exact("--unstable-ffi"),
        Short('A'), Short('c'), Short('R'), Short('W')
    ];
    ["deno"] ["eval"] RUN [VERB];
    ["eslint"] [] WRITE [
        exact("--fix"), exact("--output-file"), exact("--cache-location"), exact("--cache-file"),
        exact("--init")
    ];
    ["eslint"] [] LOAD [
        exact("--config"), exact("--rulesdir"), exact("--plugin"), exact("--parser"),
        exact("--resolve-plugins-relative-to"), exact("--format"), Short('c'), Short('f'),
        Short('o')
    ];
    ["flake8"] [] LOAD [long("--config"), long("--append-config"), long("--output-file")];
    ["gcc" "cc" "g++" "c++" "clang" "clang++" "cpp" "tcc"] [] RUN [
        Prefix("-wrapper"), Prefix("-fplugin"), Prefix("--fplugin"), Prefix("-B"), Prefix("-specs"),
        Prefix("--specs"), Prefix("-T"), Prefix("-Xlinker"), Prefix("-Wl,"), Prefix("-iplugindir"),
        Prefix("--gcc-toolchain"), Prefix("-ccc-"), Prefix("-load"), Prefix("-Xclang"),
        Prefix("-fpass-plugin"), Prefix("-fuse-ld"), Prefix("--ld-path"), Prefix("@")
    ];
    ["gcc" "cc" "g++" "c++" "clang" "clang++" "cpp" "tcc"] [] WRITE [
        Prefix("-o"), Prefix("--output"), Prefix("-save-temps"), Prefix("--save-temps"),
        Prefix("-MF"), Prefix("-MD"), Prefix("-MMD"), Prefix("-MJ"), Prefix("-aux-info"),
        Prefix("-fdump"), Prefix("-fprofile"), Prefix("-serialize-diagnostics"),
        Prefix("--serialize-diagnostics"), Prefix("-ftime-trace"), Prefix("-gsplit-dwarf"),
        Prefix("-dumpdir"), Prefix("-dumpbase")
    ];
    ["gdb"] [] RUN [
        Prefix("-ex"), Prefix("-x"), Prefix("-iex"), Prefix("-ix"), Prefix("-eval"),
        Prefix("-init-eval"), Prefix("-init-command"), Prefix("-command"), Prefix("-batch"),
        Prefix("-p"), Prefix("-cd"), Prefix("-data-directory"), Prefix("-d"), Prefix("--ex"),
        Prefix("--x"), Prefix("--iex"), Prefix("--ix"), Prefix("--eval"), Prefix("--init-eval"),
        Prefix("--init-command"), Prefix("--command"), Prefix("--args"), Prefix("--pid"),
        Prefix("--data-directory")
    ];
    ["go"] [] RUN [
        Prefix("-exec"), Prefix("--exec"), Prefix("-toolexec"), Prefix("--toolexec"),
        Prefix("-vettool"), Prefix("--vettool"), Prefix("-overlay"), Prefix("--overlay"),
        Prefix("-modfile"), Prefix("--modfile"), Prefix("-ldflags"), Prefix("--ldflags"),
        Prefix("-gccgoflags"), Prefix("--gccgoflags"), Prefix("-gcflags"), Prefix("--gcflags"),
        Prefix("-asmflags"), Prefix("--asmflags"), Prefix("-compiler"), Prefix("--compiler"),
        Prefix("-C"), Prefix("--C")
    ];
    ["go"] [] WRITE [
        Prefix("-o"), Prefix("--o"), Prefix("-pkgdir"), Prefix("--pkgdir"), Prefix("-coverprofile"),
        Prefix("--coverprofile"), Prefix("-cpuprofile"), Prefix("--cpuprofile"),
        Prefix("-memprofile"), Prefix("--memprofile"), Prefix("-blockprofile"),
        Prefix("--blockprofile"), Prefix("-mutexprofile"), Prefix("--mutexprofile"),
        Prefix("-trace"), Prefix("--trace"), Prefix("-outputdir"), Prefix("--outputdir"),
        Prefix("-test.")
    ];
    ["go"] ["env"] RUN [Prefix("-w"), Prefix("-u")];
    ["go"] ["vet"] WRITE [Prefix("-fix"), Prefix("--fix")];
    ["gofmt"] [] WRITE [Prefix("-w"), Prefix("-cpuprofile"), Prefix("--w")];
    ["goimports"] [] WRITE [Prefix("-w")];
    ["gradle" "gradlew"] [] RUN [
        Short('p'), Short('b'), Short('c'), Short('I'), Short('D'), Short('P'), Short('g'),
        exact("--project-dir"), exact("--build-file"), exact("--settings-file"),
        exact("--init-script"), exact("--include-build"), exact("--system-prop"),
        exact("--project-prop"), exact("--gradle-user-home"), exact("--project-cache-dir")
    ];
    ["java"] [] RUN [
        Prefix("-javaagent"), Prefix("-agentlib"), Prefix("-agentpath"), Prefix("-XX:OnError"),
        Prefix("-XX:OnOutOfMemoryError"), Prefix("-XX:Flags"), Prefix("-XX:VMOptionsFile"),
        Prefix("-Xbootclasspath"), Prefix("-Xlog"), Prefix("-Xloggc"), Prefix("@")
    ];
    ["jest"] [] LOAD [
        exact("--config"), exact("--setupFiles"), exact("--setupFilesAfterEnv"),
        exact("--globalSetup"), exact("--globalTeardown"), exact("--runner"), exact("--testRunner"),
        exact("--testEnvironment"), exact("--transform"), exact("--reporters"), exact("--resolver"),
        exact("--rootDir"), exact("--preset"), exact("--testSequencer"), exact("--filter"),
        exact("--outputFile"), exact("--cacheDirectory"), exact("--coverageDirectory"),
        exact("--watchPlugins"), exact("--testResultsProcessor"), exact("--updateSnapshot"),
        exact("--init"), Short('c'), Short('u')
    ];
    ["just"] [] RUN [
        Short('f'), Short('d'), Short('c'), Short('E'), exact("--justfile"),
        exact("--working-directory"), exact("--command"), exact("--shell"), exact("--shell-arg"),
        exact("--chooser"), exact("--choose"), exact("--set"), exact("--dotenv-path"),
        exact("--edit"), exact("--init"), exact("--fmt"), exact("--tempdir")
    ];
    ["ld" "ld.bfd" "ld.gold" "ld.lld" "lld" "mold"] [] WRITE [
        Prefix("-o"), Prefix("--output"), Prefix("-Map"), Prefix("--Map")
    ];
    ["ld" "ld.bfd" "ld.gold" "ld.lld" "lld" "mold"] [] LOAD [
        Prefix("-plugin"), Prefix("--plugin"), Prefix("-T"), Prefix("--script"), Prefix("-dT")
    ];
    ["ld" "ld.bfd" "ld.gold" "ld.lld" "lld" "mold"] [] OPTIONS [Prefix("@")];
    ["lldb"] [] RUN [
        Short('o'), Short('O'), Short('s'), Short('S'), Short('k'), Short('K'), Short('p'),
        long("--one-line"), long("--one-line-before-file"), long("--source"),
        long("--source-before-file"), long("--local-lldbinit"), long("--attach-pid")
    ];
    ["make" "gmake"] [] RUN [
        Short('f'), Short('C'), Short('I'), Short('E'), long("--file"), long("--makefile"),
        long("--directory"), long("--include-dir"), long("--eval"), Unless(MAKE)
    ];
    ["mocha"] [] LOAD [
        exact("--require"), exact("--file"), exact("--config"), exact("--package"),
        exact("--reporter"), exact("--ui"), exact("--import"), exact("--loader"),
        exact("--node-option"), Short('r'), Short('R'), Short('u'), Short('n')
    ];
    ["mvn" "mvnw"] [] RUN [
        Short('f'), Short('s'), Short('D'), long("--file"), long("--settings"),
        long("--global-settings"), long("--define"), Prefix("exec:")
    ];
    ["mvn" "mvnw"] [] WRITE [long("--log-file"), Short('l')];
    ["mypy"] [] LOAD [
        long("--config-file"), long("--python-executable"), long("--install-types"),
        long("--custom-typeshed-dir"), long("--cache-dir")
    ];
    ["mypy"] [] WRITE [
        Prefix("--html-report"), Prefix("--xml-report"), Prefix("--txt-report"),
        Prefix("--any-exprs-report"), Prefix("--cobertura"), Prefix("--linecount"),
        Prefix("--linecoverage"), Prefix("--lineprecision"), Prefix("--memory-xml"),
        Prefix("--xslt"), Prefix("--junit-xml")
    ];
    ["ninja"] [] RUN [Short('C'), Short('f'), Short('t')];
    ["npm"] [] RUN [
        long("--script-shell"), long("--shell"), long("--prefix"), long("--node-options"),
        long("--globalconfig"), long("--userconfig"), long("--git"), long("--editor"),
        long("--viewer"), long("--browser"), long("--init-module"), long("--call"),
        long("--location"), long("--registry"), long("--cache"), long("--node-gyp"),
        long("--nodedir"), long("--python"), long("--logs-dir"), long("--pack-destination"),
        one_dash("-script-shell"), one_dash("-shell"), one_dash("-prefix"),
        one_dash("-node-options"), one_dash("-node-gyp"), one_dash("-nodedir"),
        one_dash("-userconfig"), one_dash("-editor"), one_dash("-viewer"), one_dash("-browser"),
        one_dash("-init-module"), one_dash("-location"), one_dash("-registry"),
        one_dash("-python"), one_dash("-pack-destination"), Short('c'), Short('C'), Short('g'),
        Unless(NPM)
    ];
    ["npm"] ["c"] RUN [
        Word("set"), Word("edit"), Word("delete"), Word("del"), Word("rm"), Word("r"), Word("fix")
    ];
    ["npm"] ["exec" "explore" "edit" "set-script" "config" "x" "init" "create" "set"] RUN [VERB];
    ["npm"] [] WRITE [long("--global")];
    ["objcopy"] [] WRITE [Prefix("-o"), long("--output"), long("--dump-section")];
    ["objdump" "nm" "ar"] [] LOAD [long("--plugin")];
    ["objdump" "nm" "ar"] [] OPTIONS [Prefix("@")];
    ["pip" "pip3"] [] LOAD [
        long("--target"), long("--root"), long("--src"), long("--log"), long("--python"),
        long("--index-url"), long("--extra-index-url"), long("--find-links"),
        long("--config-settings"), long("--global-option"), long("--build-option"),
        long("--install-option"), long("--cache-dir"), long("--report"), long("--dest"), Short('t'),
        Short('i'), Long("--prefix", 6)
    ];
    ["pnpm"] [] RUN [
        long("--script-shell"), long("--dir"), long("--shell-mode"), long("--global-dir"),
        long("--global-bin-dir"), long("--shell-emulator"), long("--prefix"), long("--node-options"),
        one_dash("-script-shell"), one_dash("-dir"), one_dash("-shell-mode"),
        one_dash("-shell-emulator"), one_dash("-prefix"), one_dash("-node-options"), Short('C'),
        Short('c'), Short('g'), Prefix("--config")
    ];
    ["pnpm"] ["exec" "dlx" "create" "config" "set" "env"] RUN [VERB];
    ["prettier"] [] WRITE [exact("--write"), Short('w'), exact("--cache-location")];
    ["prettier"] [] LOAD [exact("--plugin"), exact("--config"), exact("--plugin-search-dir")];
    ["pylint"] [] LOAD [
        long("--load-plugins"), long("--init-hook"), long("--rcfile"), long("--output")
    ];
    ["javac"] [] RUN [
        Prefix("-J"), Prefix("-processor"), Prefix("--processor"), Prefix("-Xplugin"), Prefix("@")
    ];
    ["python" "python3"] [] WRITE [exact("--basetemp")];
    ["pytest" "py.test"] [] LOAD [
        Short('p'), Short('c'), Short('o'), exact("--rootdir"), exact("--confcutdir"),
        exact("--override-ini"), exact("--config-file"), exact("--basetemp"), exact("--pdbcls")
    ];
    ["pytest" "py.test"] [] WRITE [
        exact("--junit-xml"), exact("--junitxml"), exact("--log-file"), exact("--report-log"),
        exact("--html"), exact("--pastebin")
    ];
    ["ranlib"] [] LOAD [long("--plugin")];
    ["rspec"] [] LOAD [
        Short('r'), Short('I'), Short('o'), long("--require"), long("--options"), long("--out"),
        long("--default-path"), long("--format")
    ];
    ["rubocop"] [] WRITE [
        Short('a'), Short('A'), Short('x'), Short('r'), Short('c'), Short('o'),
        long("--autocorrect"), long("--auto-correct"), long("--autocorrect-all"),
        long("--auto-correct-all"), long("--require"), long("--plugin"), long("--config"),
        long("--out"), long("--auto-gen-config"), long("--fix-layout"), long("--cache-root"),
        long("--init")
    ];
    ["ruff"] [] WRITE [
        exact("--fix"), exact("--add-noqa"), exact("--fix-only"), Short('o'),
        exact("--output-file"), exact("--cache-dir")
    ];
    ["ruff"] [] OPTIONS [exact("--config")];
    ["rustc"] [] WRITE [Prefix("-o"), Prefix("--out-dir"), Prefix("--emit"), Prefix("@")];
    ["rustc"] [] RUN [
        Prefix("-Clinker"), Prefix("-Cllvm-args"), Prefix("-Z"), Prefix("--extern"),
        Prefix("--sysroot"), Word("-C"), exact("--codegen")
    ];
    ["rustdoc"] [] WRITE [
        Prefix("-o"), Prefix("--out-dir"), Prefix("--emit"), Prefix("@"), exact("--output")
    ];
    ["rustdoc"] [] RUN [
        Prefix("-Clinker"), Prefix("-Cllvm-args"), Prefix("-Z"), Prefix("--extern"),
        Prefix("--sysroot"), Word("-C"), exact("--codegen"), Prefix("--test-builder"),
        Prefix("--test-runtool"), Prefix("--runtool")
    ];
    ["rustup"] ["run"] RUN [VERB];
    ["shfmt"] [] WRITE [Short('w'), exact("--write")];
    ["strip"] [] WRITE [Prefix("-o"), long("--output")];
    ["tox" "nox"] [] RUN [
        Short('c'), Short('x'), long("--conf"), long("--noxfile"), long("--override"),
        long("--workdir")
    ];
    ["tsc"] [] WRITE [
        Prefix("--outDir"), Prefix("--outFile"), Prefix("--declarationDir"), Prefix("--build"),
        Prefix("-b"), Prefix("--tsBuildInfoFile"), Prefix("--generateTrace"),
        Prefix("--generateCpuProfile"), Prefix("--init"), Unless(TSC)
    ];
    ["uv"] [] LOAD [
        exact("--directory"), exact("--project"), exact("--config-file"), exact("--with"),
        exact("--with-editable"), exact("--python"), exact("--index-url"), exact("--index"),
        exact("--default-index"), exact("--find-links"), exact("--target"), exact("--prefix"),
        exact("--cache-dir"), exact("--env-file"), exact("--with-requirements")
    ];
    ["valgrind"] [] WRITE [
        exact("--log-file"), exact("--xml-file"), Prefix("--callgrind-out-file"),
        Prefix("--cachegrind-out-file"), Prefix("--massif-out-file")
    ];
    ["vitest"] [] LOAD [
        exact("--config"), exact("--root"), exact("--dir"), exact("--environment"),
        exact("--reporter"), exact("--outputFile"), exact("--globalSetup"), exact("--update"),
        exact("--browser"), Short('c'), Short('r'), Short('u')
    ];
    ["yarn"] [] RUN [
        exact("--cwd"), exact("--script-shell"), exact("--use-yarnrc"), exact("--modules-folder"),
        exact("--global-folder"), exact("--prefix")
    ];
    ["yarn"] ["exec" "dlx" "create" "config" "node" "global"] RUN [VERB];
}
