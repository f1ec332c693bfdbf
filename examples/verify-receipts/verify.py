"""Verifies a file of receipts with Python 3.8 or newer and nothing else: python3 verify.py FILE KEYS

The format is described in docs/receipts.md. Ends with exit code 1 and the first fault.
"""

import hashlib
import json
import re
import sys


class Fault(Exception):
    pass


def demand(is_true, fault):
    if not is_true:
        raise Fault(fault)


# Ed25519 (RFC 8032): the curve -x^2 + y^2 = 1 + d x^2 y^2 over the integers modulo P, whose base point has the order L.
P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P


def recover(text):
    y = int.from_bytes(text, "little") & (1 << 255) - 1
    demand(y < P, "a point is not on the curve")
    squared = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(squared, (P + 3) // 8, P)
    if (x * x - squared) % P != 0:
        x = x * pow(2, (P - 1) // 4, P) % P
    demand((x * x - squared) % P == 0, "a point is not on the curve")
    if x & 1 != text[31] >> 7:
        x = P - x
    return (x, y, 1, x * y % P)


def add(one, other):
    a, b = (one[1] - one[0]) * (other[1] - other[0]), (one[1] + one[0]) * (other[1] + other[0])
    c, d = 2 * one[3] * other[3] * D, 2 * one[2] * other[2]
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def multiply(factor, point):
    product = (0, 1, 1, 0)
    while factor > 0:
        if factor & 1:
            product = add(product, point)
        point = add(point, point)
        factor >>= 1
    return product


BASE = recover((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))


def is_signed(line, key, signature):
    s = int.from_bytes(signature[32:], "little")
    if s >= L:
        return False
    digest = int.from_bytes(hashlib.sha512(signature[:32] + key + line).digest(), "little") % L
    left, right = multiply(s, BASE), add(recover(signature[:32]), multiply(digest, recover(key)))
    return (left[0] * right[2] - right[0] * left[2]) % P == 0 and (left[1] * right[2] - right[1] * left[2]) % P == 0


def is_hex(text, length):
    return isinstance(text, str) and re.fullmatch("[0-9a-f]{%d}" % length, text) is not None


def hash_leaf(line):
    return hashlib.sha256(b"\0" + line).digest()


def hash_node(left, right):
    return hashlib.sha256(b"\1" + left + right).digest()


def compute_root(level):
    """Root of the tree of RFC 9162: nodes are joined in pairs, and a last one without a sibling goes up as it is."""
    while len(level) > 1:
        level = [hash_node(*level[at : at + 2]) if at + 1 < len(level) else level[at] for at in range(0, len(level), 2)]
    return (level[0] if level else hashlib.sha256().digest()).hex()


def climb(node, steps):
    for step in steps:
        demand(step[0] in "LR" and is_hex(step[1:], 64), "a step has no form")
        sibling = bytes.fromhex(step[1:])
        node = hash_node(sibling, node) if step[0] == "L" else hash_node(node, sibling)
    return node.hex()


def require_form(part, form):
    """A line that is neither hashed nor signed has one form, so that none of its bytes can change."""
    demand(json.dumps(form, separators=(",", ":"), ensure_ascii=False).encode() == part[0], "the line has another form")


def verify_section(parts, keys, months):
    demand([value["type"] for _, value in parts[:4]] == ["month", "signature", "account", "path"], "a line is missing")
    (line, month), (_, signature), (leaf, account), (_, path) = parts[:4]
    rest = parts[4:]
    demand(month["format"] == "tollgate-receipts-1", "the format is not known")
    demand(month["installation"] == keys["installation"], "the receipts are of another installation")
    demand(months.setdefault(month["month"], line) == line, month["month"] + " was closed twice")
    require_form(parts[1], {"type": "signature", "key": signature["key"], "ed25519": signature["ed25519"]})
    key = next((key["ed25519"] for key in keys["keys"] if key["id"] == signature["key"]), None)
    demand(is_hex(key, 64), "the key is not published")
    demand(hashlib.sha256(bytes.fromhex(key)).hexdigest()[:16] == signature["key"], "the key has another id")
    demand(is_hex(signature["ed25519"], 128), "the signature is wrong")
    demand(is_signed(line, bytes.fromhex(key), bytes.fromhex(signature["ed25519"])), "the signature is wrong")
    require_form(parts[3], {"type": "path", "steps": path["steps"]})
    demand(account["month"] == month["month"], "the account is of another month")
    demand(climb(hash_leaf(leaf), path["steps"]) == month["root"], "the account is not in the signed month")
    receipts = [part for part in rest if part[1]["type"] == "receipt"]
    values = [value for _, value in receipts]
    demand(all(value["account_id"] == account["account_id"] for value in values), "a receipt is of another account")
    places = [(value["settled_at"], value["hold_id"], value["kind"] != "settlement") for value in values]
    demand(all(one < other for one, other in zip(places, places[1:])), "a receipt stands twice, or out of order")
    amount = sum(int(value["amount_pico_usd"]) for value in values)
    counts = int(account["requests"]), int(account["late_settlements"])
    about = "%s %s: %%s, %d pico-USD" % (month["month"], account["account_id"], amount)
    if len(receipts) == len(rest):
        leaves = [hash_leaf(line) for line, _ in receipts]
        demand(compute_root(leaves) == account["root"], "receipts are missing, or not those of the account")
        settlements = sum(value["kind"] == "settlement" for value in values)
        demand((settlements, len(values) - settlements) == counts, "the account counts other receipts")
        demand(amount == int(account["cost_pico_usd"]), "the receipts do not add up to the cost")
        return about % ("all %d receipts" % len(receipts))
    demand(len(rest) == 2 * len(receipts), "a receipt has no path")
    for (leaf, receipt), step in zip(rest[::2], rest[1::2]):
        demand(receipt["type"] == "receipt" and step[1]["type"] == "path", "a receipt has no path")
        require_form(step, {"type": "path", "steps": step[1]["steps"]})
        demand(climb(hash_leaf(leaf), step[1]["steps"]) == account["root"], "a receipt is not among those of its account")
    return about % ("%d receipts of %d" % (len(receipts), sum(counts)))


def verify_file(data, keys):
    demand(data.endswith(b"\n"), "the file is empty, or its last line has no end")
    sections = []
    for line in data[:-1].split(b"\n"):
        value = json.loads(line)
        if value["type"] == "month":
            sections.append([])
        demand(sections, "the file does not begin with a month")
        sections[-1].append((line, value))
    months = {month["month"]: month["line"].encode() for month in keys["months"]}
    return [verify_section(section, keys, months) for section in sections]


try:
    with open(sys.argv[1], "rb") as receipts, open(sys.argv[2], "rb") as published:
        for text in verify_file(receipts.read(), json.load(published)):
            print("valid: " + text)
except (Fault, ValueError, KeyError, TypeError, IndexError) as error:
    sys.exit("NOT VALID: %s" % (error if isinstance(error, Fault) else "a line has no form"))
