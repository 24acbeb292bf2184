"""moto's expressions for many calls: the same meaning, faster. See ``embedded``.

- moto: each condition is split into its words again, and each update is parsed again. Here that happens once for each
  text. The tree of an update is copied node by node, not attribute by attribute.
- moto: each node of the tree of an update is compared with each kind of node. Here that happens once for each kind.
- moto: a name is compared with each reserved word. Here it is looked up in their set.
"""

import copy
from collections import deque
from functools import lru_cache
from typing import Any, Final

from moto.dynamodb.comparisons import ConditionExpressionParser
from moto.dynamodb.parsing import validators
from moto.dynamodb.parsing.ast_nodes import DepthFirstTraverser, Node  # type: ignore[attr-defined] # moto types neither
from moto.dynamodb.parsing.expressions import UpdateExpressionParser  # type: ignore[attr-defined]
from moto.dynamodb.parsing.reserved_keywords import ReservedKeywords

_plain_lex: Final = vars(ConditionExpressionParser)["_lex_condition_expression"]
_plain_parse: Final[Any] = UpdateExpressionParser.make
_plain_kinds: Final[Any] = DepthFirstTraverser.nodes_to_be_processed
_plain_hook: Final[Any] = DepthFirstTraverser.pre_processing_of_child
_known_kinds: Final[dict[type, tuple[type, ...]]] = {}
_known_roles: Final[dict[tuple[type, type], tuple[bool, type | None]]] = {}


def _lexed(parser: ConditionExpressionParser) -> deque[Any]:
    return deque(_tokens(parser.condition_expression))


@lru_cache(maxsize=1000)
def _parsed_update(expression: str) -> Any:  # noqa: ANN401 - untyped in moto
    """Return the tree of an update expression; moto copies it before it changes it."""
    return _plain_parse(expression)


def _copied_tree(node: Any) -> Any:  # noqa: ANN401 - untyped in moto
    """Return a copy of a tree, or of a value in it."""
    if not isinstance(node, Node):
        return copy.deepcopy(node)
    copied = copy.copy(node)
    if node.children is not None:
        copied.children = [_copied_tree(child) for child in node.children]
        for child in copied.children:
            if isinstance(child, Node):
                child.parent = copied
    return copied


def _kinds_of_nodes(traverser: Any) -> tuple[type, ...]:  # noqa: ANN401 - untyped in moto
    """Return the kinds of nodes that a traverser processes: the same for all traversers of a type."""
    kind = type(traverser)
    if kind not in _known_kinds:
        _known_kinds[kind] = _plain_kinds(traverser)
    return _known_kinds[kind]


def _role_of_node(traverser: Any, node: Any) -> tuple[bool, type | None]:  # noqa: ANN401 - untyped in moto
    """Return whether a child is a node, and the kind as which a traverser processes it; ``None`` if it does not."""
    key = type(traverser), type(node)
    if key not in _known_roles:
        kinds = _kinds_of_nodes(traverser) if isinstance(node, Node) else ()
        _known_roles[key] = isinstance(node, Node), next((kind for kind in kinds if isinstance(node, kind)), None)
    return _known_roles[key]


def _traversed(traverser: Any, node: Any, child_id: int = -1) -> Any:  # noqa: ANN401 - untyped in moto
    """Process a tree, its leaves first; return its root, which may be another node then."""
    is_node, kind = _role_of_node(traverser, node)
    if not is_node:
        return node
    parent = node.parent
    if node.children:
        has_hook = type(traverser).pre_processing_of_child is not _plain_hook
        for number, child in enumerate(node.children):
            if has_hook:
                traverser.pre_processing_of_child(node, number)
            _traversed(traverser, child, number)
    if kind is not None:
        node = traverser._processing_map()[kind](node)  # noqa: SLF001
        node.parent = parent
        if parent:
            parent.children[child_id] = node
    return node


@lru_cache(maxsize=1000)
def _tokens(expression: str | None) -> tuple[Any, ...]:
    return tuple(_plain_lex(ConditionExpressionParser(expression, None, None)))


REPLACED: Final[tuple[tuple[Any, str, Any], ...]] = (
    (ReservedKeywords, "KEYWORDS", frozenset(ReservedKeywords.get_reserved_keywords())),
    (UpdateExpressionParser, "make", _parsed_update),
    (validators, "deepcopy", _copied_tree),
    (DepthFirstTraverser, "nodes_to_be_processed", _kinds_of_nodes),
    (DepthFirstTraverser, "traverse_node_recursively", _traversed),
    (ConditionExpressionParser, "_lex_condition_expression", _lexed),
)
"""What replaces moto's: a class or module, a name in it, and the value."""
