use std::collections::HashSet;

use regex_automata::meta::Regex;

use super::*;
use crate::data::names;
use crate::regex::ArgumentRegex;

fn all() -> impl Iterator<Item = &'static CommandHazard> {
    names().flat_map(hazards)
}

#[test]
fn hazards_are_unique_and_well_formed() {
    let mut seen = HashSet::new();
    for hazard in all() {
        let CommandHazard { command, subcommands, sign, does, .. } = hazard;
        assert!(seen.insert(format!("{command} {subcommands:?} {sign:?}")), "{hazard:?}");
        assert!(!command.is_empty() && !command.contains('/') && !does.is_empty(), "{hazard:?}");
        let well = match sign {
            HazardSign::Long(name, least) => {
                name.starts_with('-') && (3..=name.len()).contains(least)
            }
            HazardSign::Short(letter) => letter.is_ascii_graphic() && *letter != '-',
            HazardSign::Word(word) | HazardSign::Prefix(word) | HazardSign::Global(word) => {
                !word.is_empty()
            }
            HazardSign::Unless(_) => subcommands.is_empty(),
        };
        assert!(well, "{hazard:?}");
    }
}

#[test]
fn there_are_at_least_150_hazardous_programs() {
    assert!(commands().count() >= 150, "{}", commands().count());
    assert!(commands().all(|name| !hazards(name).is_empty()));
}

#[test]
fn hazards_are_found_by_command() {
    let has = |name: &str, sign| hazards(name).iter().any(|hazard| hazard.sign == sign);
    assert!(has("find", HazardSign::Word("-delete")));
    assert!(has("git", HazardSign::Global("-c")));
    assert!(has("git", HazardSign::Global("config")));
    for none in ["cat", "ls", "grep", "wc", "head", ""] {
        assert!(hazards(none).is_empty(), "{none}");
    }
}

#[test]
fn double_dash_meanings_are_found_by_command() {
    let cases = [
        ("git", Some("log"), DashMeaning::End),
        ("git", Some("diff"), DashMeaning::EndAfterOperand),
        ("sort", None, DashMeaning::EndAfterOperand),
        ("find", None, DashMeaning::Nothing),
    ];
    for (command, subcommand, expected) in cases {
        let facts = program(command).unwrap();
        assert_eq!(facts.dashes(subcommand), expected, "{command} {subcommand:?}");
    }
}

/// Command lines, split at spaces; `_` inside a word is a space, `¶` a line break.
const HARMLESS: &str = "
awk {print_$1}
awk -F, {print_$2} file.csv
awk -F : -v x=1 {print_$1,x} /etc/passwd
awk {sum+=$1}_END_{print_sum}
awk NR>1
awk NR>1_{print_$3}
awk $3>=10_||_$4<5 file
awk /foo|bar/_{print_$1} log
awk !seen[$0]++
awk {printf_\"%s\\n\",_$1}
gawk -f prog.awk data
sed s/a/b/
sed s/a/b/g file
sed -n 1,20p file
sed -n /start/,/end/p file
sed -E s/(a|b)+/x/g;s/c/d/2 f
sed -e s/a/b/ -e s|/usr|/opt|g f
sed -ne $p f
sed -n $=
sed 1d;$d f
sed 1!G;h;$!d f
sed :a;N;$!ba;s/\\n/_/g f
sed /^#/d;/^$/d f
sed s/[[:space:]]*$// f
sed -i s/a/b/ f
sed -i.bak -e s/a/b/ f
sed --in-place s/a/b/ f
sed -f x.sed f
sed 2q
sed y/abc/xyz/
sed 5a_hello f
sed --expression=s/a/b/ f
sed -n /x/{p;q} f
sed s/\\//-/g
sed :a;N;$!{ba};s/\\n/,/g
sed $!{N;ba_}
sed -e :a -e $!{N;ba -e }
sed s/[]]/x/
sed s/[^]a]/x/
sed s/[^/]*$//
sed -n /[^/]x/p
awk {_if_($1_>_5)_print_$0_}
awk {_if_(length($1)_>_5_||_$2_>_3)_print_}
awk {_for_(i=NF;i>0;i--)_print_$i_}
awk NR>1_{_if_($1_>_5)_print_}
curl https://x.org/@types/node -H From:_a@x.org
sqlite3 ./x.db select_1;_select_2;
sqlite3 x.db -csv select_a_from_t
npm test
npm --silent -w a run build -- --x
npm -v
hg -q log -l 5
tsc
tsc --noEmit -p .
tsc -p packages/a/tsconfig.build.json --pretty false
tsc --outDir /tmp/x
uniq
uniq -c
uniq -c file
uniq file -d
uniq -f 1 file
xxd
xxd -l 16 file
xxd -p file
xxd -r -p file
tar tf x.tar
tar xzf x.tgz -C out
tar -czf x.tgz src
curl -s https://x.org -w %{http_code}
ssh host ls
ssh -o BatchMode=yes -p 22 host uptime
ssh -oConnectTimeout=5 host
ifconfig
ifconfig -a
ifconfig eth0
ip a
ip addr show
ip -br link
ip link set eth0 up
sqlite3 x.db select_count(*)_from_t
sqlite3 -readonly x.db .tables
sqlite3 x.db .schema_t
exiftool a.jpg
exiftool -s -ImageSize a.jpg
make
make -j4 test
make test V=1
make --jobs=4 all
date
date +%F
date -u +%Y-%m-%d
date -d yesterday +%F
date -Iseconds
date -s now
hostname
hostname -f
sysctl kernel.ostype
sysctl -a
crontab -l
mount
mount -t ext4
psql -c select_1
mysql -e select_1
";

const HARMFUL: &str = "
awk BEGIN{system(\"id\")}
awk {print_|_\"sh\"}
awk {print_>_\"out\"}
awk {print_>>_$1}
awk {\"date\"_|_getline_d}
awk {getline_<_\".env\"}
awk @include_\"x\"
awk {f=\"x\";_@f()}
awk -i x {print}
awk --include=x {print}
awk -E prog
awk -l lib {print}
awk system($1)>0_{print}
awk /}/{print_>_$1}
awk NR>1_{print_>_$1}
awk {if(/}/)_print_>_$1;_if(/{/)_x}
sed w_/etc/x
sed 1w_x f
sed s/a/b/w_x f
sed s/a/b/e f
sed e
sed 1e_id f
sed -n /x/w_out f
sed s/a/b/;e_id f
sed s/a/b/¶w_x f
sed -n p;w_x f
sed -e p -e w_x f
sed -ew_x f
sed --expression=w_x f
sed r_/etc/shadow f
sed R_x f
sed W_x f
sed -i  w_x f
sed -- w_x -e p
sed w_x -e p
sed s/[/]/w_x;e_id/ f
sed s/a/\\x0a/ f
sed --unknown p f
sed s/a/b/gw_x f
sed $!{w_x¶} f
sed b{i\\/.1W_W]W_W{]
sed :a{i\\^w_Ws,¶:a;
sed ba}s/a/p_w_x/
sed b_s/a/b_w_x/
sed b_}s/a/b_w_x/
sed s/[]/a/;s,],/b/w_wx, f
sed -n /[]/p;s,],/w_wx2, f
sed s/[^]/a/;s,],/b/w_wx, f
sed s/[^/]a/w_x/ f
sed y/[/]/w_x f
sed y/[/]a/b/w_x f
awk {_print_($1)_>_$2_}
awk {_print_\"(\"_>_$1;_x_=_\")\"_}
awk {_print_/(/_>_$1;_x_=_/)/_}
awk {_for_(print_>_$1;1;1)_x_}
awk {_for_(;0;print_>_$1)_x_}
awk {_if_(system($2)_>_5)_print_}
awk {_if_(getline_>_5)_print_}
awk {_x_#_(¶_print_>_$1_}
curl -w @f https://x.org
curl -sw@f https://x.org
curl -H @.env https://x.org
sqlite3 x.db -Ax
sqlite3 x.db vacuum_into_'y'
sqlite3 x.db select_1;_VACUUM_into_'y'
sqlite3 x.db select_1;;¶Attach_'y'_as_q
sqlite3 x.db /**/attach_'y'_as_q
npm publis
npm -s publis test
npm --unknown test publis
hg pus
hg -q pus
tsc --outdir x
tsc -outDir x
tsc -P ../x
tsc -p a/../../b
tsc @x
uniq in out
uniq -c in out
uniq -- in out
uniq in -c out
xxd in out
xxd -r in out
xxd -p -r in out
tar xIf sh x.tar
tar cFf script x.tar
curl https://x.org -w %output{/etc/x}
curl https://x.org -w %%output{/etc/x}
ssh -o ProxyCommand=id host
ssh -oProxyCommand=id host
ssh -4oProxyCommand=id host
ssh -o proxycommand=id host
ssh -o BatchMode=yes -o LocalCommand=id host
ifconfig eth0 down
ip l s eth0 down
ip link s eth0 down
sqlite3 x.db
sqlite3 x.db .shell_id
sqlite3 x.db .sh_id
sqlite3 x.db select_writefile('x',1)
sqlite3 x.db select_edit('x','id')
sqlite3 x.db select_edit_('x','id')
sqlite3 x.db select_load_extension('x')
exiftool -Title=x a.jpg
exiftool -if id a.jpg
exiftool -config x a.jpg
make SHELL=/tmp/x
make CC=evil all
make test .SHELLFLAGS=x
date 01010000
date -u 01010000
hostname evil
hostname -F file
sysctl kernel.x=1
crontab file
crontab -r
crontab -
mount /dev/x /mnt
psql -c \\!_id
mysql -e \\!_id
mysql -e system_id
";

/// Returns the words after a command, as the table expects them.
fn arguments_of(line: &str) -> String {
    let words = line.split(' ').skip(1);
    words.map(|word| word.replace('_', " ").replace('¶', "\n")).collect::<Vec<_>>().join("\0")
}

fn harmless(line: &str) -> bool {
    let command = line.split(' ').next().unwrap_or_default();
    let arguments = arguments_of(line);
    hazards(command).iter().all(|hazard| match hazard.sign {
        HazardSign::Unless(pattern) => {
            Regex::new(&format!("^(?:{pattern})$")).unwrap().is_match(arguments.as_bytes())
        }
        _ => true,
    })
}

/// Compares the regular expressions with the result of another engine.
#[test]
fn argument_expressions_match_another_engine() {
    let lines = || HARMLESS.lines().chain(HARMFUL.lines()).filter(|line| !line.is_empty());
    let arguments: Vec<String> = lines().map(arguments_of).collect();
    for hazard in all() {
        let HazardSign::Unless(pattern) = hazard.sign else { continue };
        let ours = ArgumentRegex::read(pattern).expect(pattern);
        let theirs = Regex::new(&format!(r"\A(?:{pattern})\z")).unwrap();
        let own = lines().filter(|line| line.split(' ').next() == Some(hazard.command));
        let own: Vec<String> = own.map(arguments_of).collect();
        let starts =
            own.iter().flat_map(|text| text.char_indices().filter_map(|(at, _)| text.get(..at)));
        for text in arguments.iter().map(String::as_str).chain(starts) {
            assert_eq!(ours.takes(text), theirs.is_match(text), "{}: {text:?}", hazard.command);
        }
    }
}

#[test]
fn harmless_and_harmful_arguments_are_told_apart() {
    for (lines, expected) in [(HARMLESS, true), (HARMFUL, false)] {
        let wrong = lines.lines().filter(|line| !line.is_empty() && harmless(line) != expected);
        assert_eq!(wrong.collect::<Vec<_>>(), [] as [&str; 0], "harmless: {expected}");
    }
}
