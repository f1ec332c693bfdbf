// Verifies a file of receipts with Node and nothing else: node verify.mjs FILE KEYS
// The format is described in docs/receipts.md. Ends with exit code 1 and the first fault.
import { createHash, createPublicKey, verify } from 'node:crypto';
import { readFileSync } from 'node:fs';

const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest();
const hashLeaf = (line) => sha256(Buffer.from([0]), line);
const hashNode = (left, right) => sha256(Buffer.from([1]), left, right);
const hex = (length) => new RegExp(`^[0-9a-f]{${length}}$`);

function demand(isTrue, fault) {
  if (!isTrue) throw new Error(fault);
}

function isSigned(line, publicKey, signature) {
  const der = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), Buffer.from(publicKey, 'hex')]);
  return verify(null, line, createPublicKey({ key: der, format: 'der', type: 'spki' }), Buffer.from(signature, 'hex'));
}

/** Root of the tree of RFC 9162: nodes are joined in pairs, and a last one without a sibling goes up as it is. */
function computeRoot(nodes) {
  let level = nodes;
  while (level.length > 1) {
    level = level.flatMap((node, at) => (at % 2 === 1 ? [] : [at + 1 < level.length ? hashNode(node, level[at + 1]) : node]));
  }
  return (level[0] ?? sha256('')).toString('hex');
}

function climb(leaf, steps) {
  let node = leaf;
  for (const step of steps) {
    demand(/^[LR][0-9a-f]{64}$/.test(step), 'a step has no form');
    const sibling = Buffer.from(step.slice(1), 'hex');
    node = step[0] === 'L' ? hashNode(sibling, node) : hashNode(node, sibling);
  }
  return node.toString('hex');
}

/** A line that is neither hashed nor signed has one form, so that none of its bytes can change. */
const requireForm = ({ line }, form) => demand(JSON.stringify(form) === line.toString(), 'the line has another form');

function verifySection([month, signature, account, path, ...rest], keys, months) {
  const types = [month, signature, account, path].map((one) => one?.value.type).join();
  demand(types === 'month,signature,account,path', 'month, signature, account or path is missing');
  demand(month.value.format === 'tollgate-receipts-1', 'the format is not known');
  demand(month.value.installation === keys.installation, 'the receipts are of another installation');
  const line = months.get(month.value.month) ?? month.line.toString();
  demand(line === month.line.toString(), `${month.value.month} was closed twice`);
  months.set(month.value.month, line);
  const { key: id, ed25519 } = signature.value;
  requireForm(signature, { type: 'signature', key: id, ed25519 });
  const key = keys.keys.find((one) => one.id === id);
  demand(key && hex(64).test(key.ed25519), 'the key is not published');
  demand(sha256(Buffer.from(key.ed25519, 'hex')).toString('hex').startsWith(id) && id.length === 16, 'the key has another id');
  demand(hex(128).test(ed25519) && isSigned(month.line, key.ed25519, ed25519), 'the signature is wrong');
  requireForm(path, { type: 'path', steps: path.value.steps });
  demand(account.value.month === month.value.month, 'the account is of another month');
  demand(climb(hashLeaf(account.line), path.value.steps) === month.value.root, 'the account is not in the signed month');
  const { account_id, requests, late_settlements, cost_pico_usd, root } = account.value;
  const receipts = rest.filter(({ value }) => value.type === 'receipt');
  demand(
    receipts.every(({ value }) => value.account_id === account_id),
    'a receipt is of another account',
  );
  const places = receipts.map(({ value: { settled_at, hold_id, kind } }) => `${settled_at} ${hold_id} ${kind === 'settlement' ? 0 : 1}`);
  demand(
    places.every((place, at) => at === 0 || places[at - 1] < place),
    'a receipt stands twice, or out of order',
  );
  const amount = receipts.reduce((sum, { value }) => sum + BigInt(value.amount_pico_usd), 0n);
  if (receipts.length === rest.length) {
    demand(computeRoot(receipts.map(({ line }) => hashLeaf(line))) === root, 'receipts are missing, or not those of the account');
    const settlements = receipts.filter(({ value }) => value.kind === 'settlement').length;
    demand(String(settlements) === requests, 'the account counts other requests');
    demand(String(receipts.length - settlements) === late_settlements, 'the account counts other late settlements');
    demand(amount === BigInt(cost_pico_usd), 'the receipts do not add up to the cost');
    return `${month.value.month} ${account_id}: all ${receipts.length} receipts, ${amount} pico-USD`;
  }
  demand(rest.length === 2 * receipts.length, 'a receipt has no path');
  for (let at = 0; at < rest.length; at += 2) {
    demand(rest[at].value.type === 'receipt' && rest[at + 1].value.type === 'path', 'a receipt has no path');
    requireForm(rest[at + 1], { type: 'path', steps: rest[at + 1].value.steps });
    demand(climb(hashLeaf(rest[at].line), rest[at + 1].value.steps) === root, 'a receipt is not among those of its account');
  }
  return `${month.value.month} ${account_id}: ${receipts.length} receipts of ${BigInt(requests) + BigInt(late_settlements)}, ${amount} pico-USD`;
}

function verifyFile(bytes, keys) {
  const sections = [];
  for (let from = 0; from < bytes.length; ) {
    const end = bytes.indexOf(0x0a, from);
    demand(end !== -1, 'the last line has no end');
    const line = bytes.subarray(from, end);
    const value = JSON.parse(line.toString());
    if (value.type === 'month') sections.push([]);
    demand(sections.length > 0, 'the file does not begin with a month');
    sections.at(-1).push({ line, value });
    from = end + 1;
  }
  demand(sections.length > 0, 'the file has no receipts');
  const months = new Map(keys.months.map(({ month, line }) => [month, line]));
  return sections.map((section) => verifySection(section, keys, months));
}

const [, , file, keys] = process.argv;
try {
  for (const text of verifyFile(readFileSync(file), JSON.parse(readFileSync(keys, 'utf8')))) console.log(`valid: ${text}`);
} catch (error) {
  console.error(`NOT VALID: ${error.message}`);
  process.exitCode = 1;
}
