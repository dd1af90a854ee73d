"""Prints the arguments of every valkey.NAME(...) in a program, as JSON: {NAME: {argument: value}}."""

import ast
import json
import sys


def camel_case(name):
    first, *others = name.split("_")
    return first + "".join(part.capitalize() for part in others)


def value_of(node):
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.List):
        return [value_of(each) for each in node.elts]
    if isinstance(node, ast.Dict):
        return {camel_case(key.value): value_of(each) for key, each in zip(node.keys, node.values)}
    return {"expression": ast.unparse(node)}


tree = ast.parse(open(sys.argv[1]).read())
calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
print(
    json.dumps(
        {
            call.func.attr: {camel_case(each.arg): value_of(each.value) for each in call.keywords}
            for call in calls
            if isinstance(call.func.value, ast.Name) and call.func.value.id == "valkey"
        }
    )
)
