"""The programs that may run, with their allowed options.

To add a program, add an entry to :data:`PROGRAMS`. Allow an option only if, with any value, the
program runs nothing, writes nothing, reads only the given files and folders, opens no connection,
and terminates.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from winnow.errors import NotAllowed
from winnow.search.bash import find
from winnow.search.bash.options import Kind, Program
from winnow.search.bash.scripts import check_awk, check_sed

RUNS = "runs a program"
WRITES = "writes a file"
FOLLOWS = "follows symlinks, which may lead out of the workspace"
ENDLESS = "may never end"
LISTS = "reads its paths from a file, where they cannot be checked"


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _each(names: str, kind: Kind) -> dict[str, Kind]:
    return dict.fromkeys(names.split(), kind)


def _refused(reasons: Mapping[str, str]) -> dict[str, str]:
    """Map each option to its reason, given the options of each reason."""
    return {name: why for why, names in reasons.items() for name in names.split()}


_GREP = Program(
    name="grep",
    flags=_names(
        "-E -F -G -P -i -y -w -x -z -s -v -b -n -H -h -o -q -a -I -r -l -L -c -T -U -Z -V"
        " --extended-regexp --fixed-strings --basic-regexp --perl-regexp --ignore-case"
        " --no-ignore-case --word-regexp --line-regexp --null-data --no-messages --invert-match"
        " --byte-offset --line-number --line-buffered --with-filename --no-filename"
        " --only-matching --quiet --silent --text --recursive --files-without-match"
        " --files-with-matches --count --initial-tab --null --no-group-separator --binary"
        " --version --help"
    ),
    values={
        **_each("-A -B -C -m --after-context --before-context --context --max-count", "number"),
        **_each("-e --regexp --include --exclude --exclude-dir --label", "text"),
        **_each("--binary-files --group-separator", "text"),
        **_each("-f --file --exclude-from", "path"),
        **_each("--color --colour", "optional"),
    },
    refused=_refused(
        {
            FOLLOWS + ": use -r": "-R --dereference-recursive",
            "may read FIFOs and devices, which may never end": "-D --devices",
            "is not allowed: use -r": "-d --directories",
        }
    ),
    number="-C",
    pattern=True,
    no_pattern=_names("-e --regexp -f --file --version -V --help"),
    walks=_names("-r --recursive --version -V --help"),
)

_RG_FLAGS = _names(
    "-s -F -i -v -x -U -P -S -a -w -. -u -b -n -N -0 -o -p -q -H -I -c -l -h -V"
    " --case-sensitive --crlf --fixed-strings --no-fixed-strings --ignore-case --invert-match"
    " --no-invert-match --line-regexp --multiline --no-multiline --multiline-dotall --no-unicode"
    " --unicode --null-data --pcre2 --no-pcre2 --smart-case --stop-on-nonmatch --text --no-text"
    " --word-regexp --auto-hybrid-regex --binary --no-binary --no-follow --glob-case-insensitive"
    " --hidden --no-hidden --ignore-file-case-insensitive --ignore --no-ignore --no-ignore-dot"
    " --no-ignore-exclude --no-ignore-files --no-ignore-global --no-ignore-parent --no-ignore-vcs"
    " --no-require-git --require-git --one-file-system --unrestricted --byte-offset --column"
    " --no-column --heading --no-heading --include-zero --line-buffered --block-buffered"
    " --line-number --no-line-number --max-columns-preview --null --only-matching --passthru"
    " --pretty --quiet --trim --no-trim --vimgrep --with-filename --no-filename --sort-files"
    " --count --count-matches --files-with-matches --files-without-match --json --no-json"
    " --no-ignore-messages --no-messages --messages --stats --no-stats --files --no-config"
    " --type-list --version --help --pcre2-version --no-pre --no-search-zip --no-mmap"
    " --no-context-separator"
)
_RG_VALUES: dict[str, Kind] = {
    **_each("-e --regexp -E --encoding --engine -g --glob --iglob -t --type -T --type-not", "text"),
    **_each("--type-add --type-clear --color --colors --context-separator", "text"),
    **_each("-r --replace", "short"),
    **_each("--field-context-separator --field-match-separator --path-separator", "text"),
    **_each("--sort --sortr", "text"),
    **_each("-m --max-count -d --max-depth --maxdepth -M --max-columns", "number"),
    **_each("-A --after-context -B --before-context -C --context", "number"),
    **_each("--max-filesize", "size"),
    **_each("-f --file --ignore-file", "path"),
}
_RG_REFUSED = {
    RUNS: "--pre --pre-glob --hostname-bin",
    "runs programs that decompress: use rga for archives": "-z --search-zip",
    FOLLOWS: "-L --follow",
    "prints links for terminals": "--hyperlink-format",
    "prints debug output, not matches": "--debug --trace --generate",
    "may use any amount of memory": "--dfa-size-limit --regex-size-limit",
    "fails if files change while they are read": "--mmap",
    "is chosen by ripgrep": "-j --threads",
}
_NO_SEARCH = "--files --type-list --version -V --help -h --pcre2-version"
_RG = Program(
    name="rg",
    flags=_RG_FLAGS,
    values=_RG_VALUES,
    refused=_refused(_RG_REFUSED),
    pattern=True,
    no_pattern=_names(f"-e --regexp -f --file {_NO_SEARCH}"),
    alone="either",
    walks=_names(_NO_SEARCH),
    # Truncating a memory-mapped file while it is searched kills ripgrep with SIGBUS. Messages about
    # an ignore file quote its lines, and the file may be a symlink to outside the workspace.
    fixed=("--no-config", "--no-mmap", "--no-ignore-messages"),
    # Buffered output is lost at the timeout.
    at_end=("--line-buffered",),
)

# rga interprets every word that begins with `--rga-`, even as a value or after `--`. Hence values
# are attached to their options and paths begin with `./`, as for every program.
_RGA = Program(
    name="rga",
    flags=_RG_FLAGS - _names("--no-pre"),
    values=_RG_VALUES,
    refused=_refused(_RG_REFUSED),
    pattern=True,
    no_pattern=_RG.no_pattern,
    alone="either",
    walks=_RG.walks,
    fixed=_RG.fixed,
    at_end=_RG.at_end,
)

_CAT = Program(
    name="cat",
    flags=_names(
        "-A -b -e -E -n -s -t -T -u -v --show-all --number-nonblank --show-ends --number"
        " --squeeze-blank --show-tabs --show-nonprinting --version --help"
    ),
)

_HEAD = Program(
    name="head",
    flags=_names("-q -v -z --quiet --silent --verbose --zero-terminated --version --help"),
    values=_each("-n -c --lines --bytes", "count"),
    number="-n",
)

_TAIL = Program(
    name="tail",
    flags=_HEAD.flags,
    values=_HEAD.values,
    refused=_refused(
        {
            "waits for more text and never ends": "-f -F --follow",
            f"{ENDLESS}: it belongs to --follow": "--retry --pid -s --sleep-interval"
            " --max-unchanged-stats",
        }
    ),
    number="-n",
)

_LS = Program(
    name="ls",
    flags=_names(
        "-a -A -b -B -c -C -d -f -F -g -G -h -i -k -l -m -n -N -o -p -q -Q -r -R -s -S -t -u -U -v"
        " -x -X -1 --all --almost-all --author --escape --ignore-backups --directory --file-type"
        " --full-time --group-directories-first --no-group --human-readable --si --inode"
        " --kibibytes --numeric-uid-gid --literal --hide-control-chars --show-control-chars"
        " --quote-name --reverse --recursive --size --zero --version --help"
    ),
    values={
        **_each(
            "-I --ignore --hide --block-size --format --indicator-style --quoting-style", "text"
        ),
        **_each("--sort --time", "text"),
        "--time-style": "short",
        **_each("--color --classify", "optional"),
    },
    refused=_refused(
        {
            FOLLOWS: "-L --dereference -H --dereference-command-line"
            " --dereference-command-line-symlink-to-dir"
        }
    ),
    alone="folder",
)

_TREE = Program(
    name="tree",
    flags=_names(
        "-a -d -f -x -i -q -N -Q -p -u -g -s -h -D -F -v -t -c -U -r -A -S -n -C -X -J --gitignore"
        " --ignore-case --matchdirs --metafirst --prune --noreport --si --du --inodes --device"
        " --dirsfirst --filesfirst --version --help"
    ),
    values={
        **_each("-L --filelimit", "number"),
        **_each("-P -I --charset --timefmt --sort", "text"),
    },
    refused=_refused(
        {
            WRITES: "-o -R",
            FOLLOWS: "-l",
            LISTS: "--fromfile --fflinks",
            "reads files that links lead to": "--info --infofile --gitfile --hintro --houtro",
            "prints HTML: use -J for JSON": "-H -T --nolinks",
        }
    ),
    alone="folder",
    # tree 2.1 refuses `-L2`.
    attached=False,
)

_WC = Program(
    name="wc",
    flags=_names(
        "-c -m -l -L -w --bytes --chars --lines --max-line-length --words --version --help"
    ),
    refused={"--files0-from": LISTS},
)

_FILE = Program(
    name="file",
    flags=_names(
        "-b -i -I -k -h -n -N -0 -r -v --brief --mime --mime-type --mime-encoding --apple"
        " --extension --keep-going --no-dereference --no-buffer --no-pad --print0 --raw --version"
        " --help"
    ),
    values=_each("-F --separator -e --exclude --exclude-quiet", "text"),
    refused=_refused(
        {
            WRITES: "-C --compile",
            "reads rules from a file that cannot be checked": "-m --magic-file",
            LISTS: "-f --files-from",
            "runs programs that decompress": "-z --uncompress -Z --uncompress-noreport",
            FOLLOWS: "-L --dereference",
            "reads devices, which may never end": "-s --special-files",
            "changes when files were last read": "-p --preserve-date",
            "disables protection against malicious files": "-P --parameter -S --no-sandbox",
            "prints debug output": "-d --debug -c --checking-printout -l --list",
        }
    ),
    alone="nothing",
)

_SORT = Program(
    name="sort",
    flags=_names(
        "-b -d -f -g -i -M -h -n -r -V -s -u -z -c -C -R --ignore-leading-blanks"
        " --dictionary-order --ignore-case --general-numeric-sort --ignore-nonprinting"
        " --month-sort --human-numeric-sort --numeric-sort --reverse --random-sort --version-sort"
        " --stable --unique --zero-terminated --check --version --help"
    ),
    values={**_each("-k --key", "list"), **_each("-t --field-separator", "short")},
    refused=_refused(
        {
            WRITES: "-o --output -T --temporary-directory",
            RUNS: "--compress-program",
            LISTS: "--files0-from",
            "may use any amount of memory": "-S --buffer-size --batch-size --parallel",
            "reads a file that is not sorted": "--random-source",
        }
    ),
    # More than fits is an error, because there is no folder for temporary files.
    fixed=("-S64M", "-T/dev/null"),
)

_UNIQ = Program(
    name="uniq",
    flags=_names(
        "-c -d -D -i -u -z --count --repeated --all-repeated --ignore-case --unique --group"
        " --zero-terminated --version --help"
    ),
    values=_each("-f -s -w --skip-fields --skip-chars --check-chars", "number"),
    most=1,
)

_CUT = Program(
    name="cut",
    flags=_names("-n -s -z --complement --only-delimited --zero-terminated --version --help"),
    values={
        **_each("-b -c -f --bytes --characters --fields", "list"),
        **_each("-d --delimiter --output-delimiter", "short"),
    },
)

_TR = Program(
    name="tr",
    flags=_names(
        "-c -C -d -s -t --complement --delete --squeeze-repeats --truncate-set1 --version --help"
    ),
    texts=True,
)

_NL = Program(
    name="nl",
    flags=_names("-p --no-renumber --version --help"),
    values=_each(
        "-b -d -f -h -i -l -n -s -v -w --body-numbering --section-delimiter --footer-numbering"
        " --header-numbering --line-increment --join-blank-lines --number-format"
        " --number-separator --starting-line-number --number-width",
        "short",
    ),
)

_COMM = Program(
    name="comm",
    flags=_names(
        "-1 -2 -3 -z --check-order --nocheck-order --total --zero-terminated --version --help"
    ),
    values=_each("--output-delimiter", "short"),
    alone="nothing",
)

IN_SCRIPTS = "reads its script from a file, where it cannot be checked"
_SED = Program(
    name="sed",
    flags=_names(
        "-n -E -r -s -u -z --quiet --silent --regexp-extended --separate --unbuffered"
        " --null-data --version --help"
    ),
    values=_each("-e --expression", "script"),
    refused=_refused(
        {
            WRITES: "-i --in-place",
            IN_SCRIPTS: "-f --file",
            FOLLOWS: "--follow-symlinks",
        }
    ),
    pattern=True,
    no_pattern=_names("-e --expression --version --help"),
    fixed=("--sandbox",),
    check=check_sed,
)

_AWK = Program(
    name="awk",
    values={"-F": "short", "-v": "variable"},
    refused=_refused({IN_SCRIPTS: "-f --file -i --include -l --load -e --source -E --exec"}),
    check=check_awk,
)

PROGRAMS = {
    program.name: program
    for program in (
        _GREP,
        Program(name="find", alone="folder", read=find.read),
        _CAT,
        _HEAD,
        _TAIL,
        _LS,
        _TREE,
        _WC,
        _FILE,
        _SORT,
        _UNIQ,
        _CUT,
        _TR,
        _NL,
        _COMM,
        _SED,
        _AWK,
        _RG,
        _RGA,
    )
}


def offered() -> tuple[str, ...]:
    """Return the names of the programs that may run on this system."""
    # On Windows, find.exe is a different program, and the others are not reliably present.
    return ("rg", "rga") if sys.platform == "win32" else tuple(PROGRAMS)


def program_of(name: str) -> Program:
    """Return the program of a name. Raise NotAllowed."""
    if name not in offered():
        allowed = f"the programs are {', '.join(offered())}"
        why = f"name programs without their path; {allowed}" if "/" in name else allowed
        raise NotAllowed(name or "''", why)
    return PROGRAMS[name]
