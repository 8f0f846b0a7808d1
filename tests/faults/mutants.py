"""Small changes to a module's text, one at a time: what a test suite that checks everything would notice.

Families of changes (DeMillo et al., "Hints on test data selection", 1978; the usual operators):

* comparison: < to <=, > to >=, == to !=, `in` to `not in`, `is` to `is not`, and back;
* arithmetic: + to -, * to /, / to *, // to *, % to *, ** to *, << to >>, | to &, - to + before a value;
* constant: 0 to 1, 1 to 0, any other number n to n + 1;
* boolean: `and` to `or` and back, True to False and back, `not` left out, a plain condition negated;
* slice: a bound left out, or moved by one;
* statement: a simple statement replaced by `pass`.

Left alone: annotations, docstrings, strings, f-strings, the parts of a message (all but the condition of
`require`, all of a `raise`, which can only be deleted as a whole), imports, definitions, protocols, and first
assignments of a local name, whose deletion is a NameError and shows nothing.
"""

import ast
import io
import tokenize
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from fault import ROOT

UNCHANGED = "none"  # the operator of the mutant that is the module itself
COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "in": "not in", "not in": "in"}
COMPARISONS |= {"is": "is not", "is not": "is"}
ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "//": "*", "%": "*", "**": "*"}
ARITHMETIC |= {"<<": ">>", ">>": "<<", "|": "&", "&": "|", "^": "&"}
SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return, ast.Break, ast.Continue, ast.Assert)


@dataclass(frozen=True)
class Mutant:
    """A module with one change; the runner `../mutation.py` takes it where it takes a planted fault."""

    module: str  # dotted, e.g. "eagle_min.verify"
    operator: str  # the family of the change
    line_number: int
    line: str  # text of that line, without its comment
    old: str
    new: str
    occurrence: int  # counted from 1 among the same changes to lines of the same text
    killers: tuple[str, ...] = ()  # test files or tests, the cheapest first
    text: str = field(default="", repr=False)  # of the whole module, the change included
    neutral = False

    @property
    def name(self) -> str:
        """The id: it does not change with edits elsewhere in the module."""
        if self.operator == UNCHANGED:
            return f"{self.module} | unchanged"
        change = "deleted" if self.operator == "statement" else f"{self.old} to {self.new}"
        return f"{self.module.removeprefix('eagle_min.')} | {self.line} | {change} | {self.occurrence}"

    @property
    def path(self) -> Path:
        """The module's file."""
        return ROOT / (self.module.replace(".", "/") + ".py")

    def source(self) -> str:
        return self.text


Edit = tuple[str, int, int, str]  # operator, first and last character of the text, what replaces them


class Collector(ast.NodeVisitor):
    """Walks over a module and lists its edits."""

    def __init__(self, text: str) -> None:
        self.text, self.edits = text, []
        self.lines = text.splitlines(keepends=True)
        self.starts = [sum(map(len, self.lines[:n])) for n in range(len(self.lines) + 1)]
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
        self.tokens = [
            (self.starts[token.start[0] - 1] + token.start[1], token.string)
            for token in tokens
            if token.type in (tokenize.OP, tokenize.NAME) and token.string not in ("(", ")")
        ]
        self.comments = {token.start[0]: token.start[1] for token in tokens if token.type == tokenize.COMMENT}
        self.functions: list[ast.FunctionDef] = []

    def span(self, node: ast.AST) -> tuple[int, int]:
        """First and one past the last character; `ast` counts columns in bytes."""
        places = ((node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset))
        first, last = (
            self.starts[line - 1] + len(self.lines[line - 1].encode()[:column].decode()) for line, column in places
        )
        return first, last

    def segment(self, node: ast.AST) -> str:
        first, last = self.span(node)
        return self.text[first:last]

    def edit(self, operator: str, node: ast.AST, new: str) -> None:
        self.edits.append((operator, *self.span(node), new))

    def edit_between(self, operator: str, table: dict[str, str], left: ast.AST, right: ast.AST) -> None:
        """Replace the operator written between two nodes, parentheses and comments aside."""
        first, last = self.span(left)[1], self.span(right)[0]
        found = [(place, word) for place, word in self.tokens if first <= place < last]
        start, end = found[0][0], found[-1][0] + len(found[-1][1])
        words = " ".join(word for _, word in found)
        if words in table:
            self.edits.append((operator, start, end, table[words]))

    # --- what is left alone -----------------------------------------------------------------------

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for part in (*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)):
            self.visit(part)
        self.functions.append(node)
        for statement in node.body:
            self.visit(statement)
        self.functions.pop()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        if all(ast.unparse(base) != "Protocol" for base in node.bases):
            for part in (*node.decorator_list, *node.body):
                self.visit(part)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.visit(node.body)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        pass

    def visit_Raise(self, node: ast.Raise) -> None:
        self.edit("statement", node, "pass")

    def visit_Call(self, node: ast.Call) -> None:
        if ast.unparse(node.func) == "require":
            self.visit(node.args[0])
        else:
            self.generic_visit(node)

    # --- statements -------------------------------------------------------------------------------

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, SIMPLE) and self.functions and self.can_go(node):
            self.edit("statement", node, "pass")
        super().visit(node)

    def can_go(self, node: ast.stmt) -> bool:
        """Not a docstring or `...`, and no local name would be left unbound."""
        if isinstance(node, ast.Expr):
            return not isinstance(node.value, ast.Constant)
        if isinstance(node, ast.AnnAssign) and node.value is None:
            return False
        known = {argument.arg for argument in ast.walk(self.functions[-1]) if isinstance(argument, ast.arg)}
        known |= {name.id for name in names_bound(self.functions[-1]) if name.lineno < node.lineno}
        return all(name.id in known for name in names_bound(node))

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        if not ast.unparse(node.targets[0]).startswith("__"):
            self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        table = {f"{old}=": f"{new}=" for old, new in ARITHMETIC.items()}
        self.edit_between("arithmetic", table, node.target, node.value)
        self.generic_visit(node)

    # --- expressions ------------------------------------------------------------------------------

    def visit_Compare(self, node: ast.Compare) -> None:
        values = [node.left, *node.comparators]
        for left, right in zip(values, values[1:]):
            self.edit_between("comparison", COMPARISONS, left, right)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if not self.functions and isinstance(node.op, ast.BitOr):
            return  # a union of types
        self.edit_between("arithmetic", ARITHMETIC, node.left, node.right)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        text = self.segment(node)
        if isinstance(node.op, ast.Not):
            self.edit("boolean", node, text.removeprefix("not").lstrip())
        elif isinstance(node.op, ast.USub):
            first = self.span(node)[0]
            self.edits.append(("arithmetic", first, first + 1, "+"))
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        for left, right in zip(node.values, node.values[1:]):
            self.edit_between("boolean", {"and": "or", "or": "and"}, left, right)
        self.generic_visit(node)

    def negate(self, condition: ast.expr) -> None:
        """Comparisons, `and`, `or` and `not` have mutants of their own."""
        if not isinstance(condition, (ast.Compare, ast.BoolOp, ast.Constant)) and not is_not(condition):
            self.edit("boolean", condition, f"not ({self.segment(condition)})")

    def visit_If(self, node: ast.If | ast.While | ast.IfExp) -> None:
        self.negate(node.test)
        self.generic_visit(node)

    visit_While = visit_IfExp = visit_If

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for condition in node.ifs:
            self.negate(condition)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self.edit("boolean", node, str(not node.value))
        elif isinstance(node.value, (int, float)):
            self.edit("constant", node, repr(type(node.value)(0) if node.value == 1 else node.value + 1))

    def visit_Slice(self, node: ast.Slice) -> None:
        lower, upper, step = (self.segment(part) if part else "" for part in (node.lower, node.upper, node.step))
        tail = f":{step}" if step else ""
        new = [f":{upper}{tail}", f"{shifted(node.lower, lower)}:{upper}{tail}"] if lower else []
        new += [f"{lower}:{tail}", f"{lower}:{shifted(node.upper, upper)}{tail}"] if upper else []
        new += [f"{lower}:{upper}"] if step else []
        for text in new:
            self.edit("slice", node, text)
        for part in (node.lower, node.upper, node.step):
            if part and not is_number(part):
                self.visit(part)


def is_not(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def is_number(node: ast.expr) -> bool:
    """A number, or one with a minus before it."""
    return isinstance(node.operand if isinstance(node, ast.UnaryOp) else node, ast.Constant)


def shifted(node: ast.expr, text: str) -> str:
    """A bound one further from where it is counted from: 1 to 2, -1 to -2, n to n + 1."""
    if not is_number(node):
        plain = isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.BinOp, ast.UnaryOp))
        return f"{text} + 1" if plain else f"({text}) + 1"
    value = ast.literal_eval(node)
    return str(value - 1 if value < 0 else value + 1)


def names_bound(node: ast.AST) -> list[ast.Name]:
    """Plain names that are assigned in it."""
    return [part for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)]


def mutants_of(module: str, text: str, killers: tuple[str, ...] = ()) -> list[Mutant]:
    """All mutants of a module's text, in the order of their places."""
    collector = Collector(text)
    collector.visit(ast.parse(text))
    counts: Counter = Counter()
    result = []
    for operator, first, last, new in sorted(collector.edits, key=lambda edit: (edit[1], edit[2])):
        number = text.count("\n", 0, first) + 1
        line = collector.lines[number - 1][: collector.comments.get(number)].strip()
        old = " ".join(text[first:last].split())
        counts[line, operator, old, new] += 1
        changed = text[:first] + new + text[last:]
        key = counts[line, operator, old, new]
        result.append(Mutant(module, operator, number, line, old, " ".join(new.split()), key, killers, changed))
    return result


def unchanged(module: str, text: str, killers: tuple[str, ...]) -> Mutant:
    """The module itself, to see that its tests pass and what they cost."""
    return Mutant(module, UNCHANGED, 0, "", "", "", 1, killers, text)
