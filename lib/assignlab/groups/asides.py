"""Lines between the lines: commands and prompts, what tools say on stderr, Java's chatter."""

import re

from assignlab.groups.rows import GroupRow
from assignlab.groups.states import WARNED
from assignlab.groups.text import Text, printable

_TOOL = re.compile(
    r"(kafka-(?:(?:consumer|streams|share)-)?groups|kafka-topics|mqadmin|kcat|kafkacat|curl|kafka-python|rpk)"
    r"(?:\.sh|\.bat)?\s+(?:-|http|consumer|admin|group|cluster)"
)
_LAUNCHERS = ("sudo", "sh", "bash", "docker", "podman", "kubectl", "oc")
_PROMPTS = ("$", "#", "%", ">", "❯", "➜")
_GROUP_OPTION = re.compile(r"(?:--group|\s-g)(?:\s+|=)(?:'([^']*)'|\"([^\"]*)\"|([^\s'\"]+))")
LONGEST_PROMPT = 200
_CONTINUED = ("\\", "`", "^")
_OPTION = re.compile(r"\s*--[a-z]+(-[a-z]+)*(\s|$)")
_PROMPT = re.compile(
    r"\s*(\[[^\]]*\]|\S*[@:~/\\]\S*|PS \S+|(ba|z)?sh-?[\d.]*)?\s?[$#%>❯]\s*(exit)?"
    r"|➜\s+\S+(\s+git:\(\S+\)(\s+✗)?)?\s*"  # Oh My Zsh
)
_TOOL_FAILED = re.compile(
    r"\s*(?:Error: (?!(?:The c|C)onsumer group '.*' does not exist\.)(.*)"
    r"|(?:Error while executing|% ERROR: |Exception in thread |(?:[a-z]\w*\.){2,}\w+Exception\b).*"
    r"|\S+: .*(?:command not found|No such file or directory))"
)
_LEFT_OUT = re.compile(
    r"\s*([#>|]\s*)?(\.{3,}|…+|[<\[({](\.{3,}|…|snip\w*|cut|truncated)[>\])}])\s*"
)
_NO_MEMBERS = re.compile(r"\s*Consumer group '(.*)' has no active members\.\s*")
_REBALANCING = re.compile(r"\s*Warning: Consumer group '(.*)' is rebalancing\.\s*")
_CHATTER = re.compile(
    r"\s*(Error: |Note: This will (only|not) show information about|Could not fetch offset from "
    r"|SLF4J|log4j:(WARN|ERROR)|RocketMQLog:WARN |Picked up \w"
    r"|(OpenJDK|Java HotSpot\(TM\)) .* warning:|WARNING: "
    r"|DEPRECATED: (A|Using) Log4j 1|To use a Log4j 2\.x configuration, |You can also use the .*log4j2\.yaml "
    r"|Defaulted container |Unable to use a TTY|If you don't see a command prompt, |pod \S+ deleted"
    r"|(WARN|ERROR) StatusLogger "
    r"|(\[?(\d{4}-\d\d-\d\d[ T])?\d\d:\d\d:\d\d[.,]\d+\S* (\S+ )?|\[[^\]]+\] )(TRACE|DEBUG|INFO|WARN|ERROR)\b"
    r"|%\s+Total\s+%\s+Received|Dload\s+Upload|\d+\s+\S+\s+\d+\s.*-:--:--"  # curl's progress
    r"|Consume (TPS|Diff Total|Inflight Total): |Diff Total: "
    r"|```\w*\s*$|\{(noformat|code)[^}]*\}\s*$|#{2,6} )"
)


def pass_over(text: Text) -> bool:
    """Whether the text stands at such a line; if so, passes over it.

    What it says of a group goes to ``text.asides``, the group that a command asks for to
    ``text.group``. TextError where a tool says that it failed, or lines were left out.
    """
    line = text.line()
    if match := _TOOL_FAILED.match(line):
        raise text.error(f"the tool failed: {printable(match[1] or match[0].strip())[:200]}")
    if _LEFT_OUT.fullmatch(line):
        raise text.error("lines were left out here: expected all that the tool printed")
    if _is_command(line):
        _pass_command(text)
        return True
    for pattern, state in ((_NO_MEMBERS, "Empty"), (_REBALANCING, WARNED)):
        if match := pattern.fullmatch(line):
            text.asides.append(GroupRow(match[1], state=state))
            break
    else:
        prompt = len(line) < LONGEST_PROMPT and _PROMPT.fullmatch(line)
        if line.strip() and not (prompt or _CHATTER.match(line)):
            return False
    text.skip_line()
    return True


def _is_command(line: str) -> bool:
    """Whether a tool is called: at the beginning, behind a prompt, or by a launcher."""
    tool = _TOOL.search(line)
    before = line[: tool.start()].split() if tool else []
    prompt = any(word.endswith(_PROMPTS) for word in before)
    path = len(before) == 1 and before[0].endswith(("/", "\\"))
    return bool(tool) and (not before or prompt or path or before[0] in _LAUNCHERS)


def _pass_command(text: Text) -> None:
    command = ""
    while text.more():
        line = text.line().rstrip()
        command += line
        text.skip_line()
        if not line.endswith(_CONTINUED) and not _OPTION.match(text.line()):
            break
    groups = {a or b or c for a, b, c in _GROUP_OPTION.findall(command)}
    text.group = groups.pop() if len(groups) == 1 else None
