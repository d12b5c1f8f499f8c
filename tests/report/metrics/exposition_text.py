"""A strict reader of the text format of Prometheus."""

import re

NAME = r"[a-z_:][a-z0-9_:]*"
PAIR = r'[a-z_]+="(?:[^"\\\n]|\\[\\n"])*"'
HELP = re.compile(rf"# HELP ({NAME}) [^\n\\]+")
TYPE = re.compile(rf"# TYPE ({NAME}) (gauge|counter)")
SAMPLE = re.compile(
    rf"({NAME})(?:\{{({PAIR}(?:,{PAIR})*)\}})? (-?[0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?)"
)
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"')
PLAIN = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}


def read(text):
    """(name, sorted labels) -> value as text; every line is checked."""
    assert text == "" or text.endswith("\n")
    found, name, finished = {}, None, set()
    for line in text.split("\n")[:-1]:
        if head := HELP.fullmatch(line):
            name, kind = head[1], None
            assert name not in finished
            finished.add(name)
        elif head := TYPE.fullmatch(line):
            assert (head[1], kind) == (name, None)
            kind = head[2]
            assert (kind == "counter") == name.endswith("_total")
        else:
            sample = SAMPLE.fullmatch(line)
            assert sample, line
            assert (sample[1], kind is None) == (name, False)
            pairs = [
                (key, re.sub(r"\\.", lambda code: PLAIN[code[0]], value))
                for key, value in LABEL.findall(sample[2] or "")
            ]
            assert len(dict(pairs)) == len(pairs)
            place = (name, tuple(sorted(pairs)))
            assert place not in found
            found[place] = sample[3]
    return found


def of(found, name):
    """Label values in the order of their names -> value, of one metric."""
    return {
        tuple(value for _, value in labels): each
        for (metric, labels), each in found.items()
        if metric == name
    }
