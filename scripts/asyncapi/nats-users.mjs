/** Parses config/nats.conf. Returns the names, and functions that list the users who may publish or subscribe to a subject. */
export function readUsers(text) {
  const plain = text.replace(/^\s*#.*$/gm, '');
  const users = [...plain.matchAll(/^([\w-]+) \{\n([\s\S]*?)^\}/gm)].map(([, name, permissions]) => ({
    name,
    publish: subjectsIn(/publish\s*\{\s*allow:\s*\[([^\]]*)\]/.exec(permissions)?.[1]),
    subscribe: subjectsIn(/subscribe\s*\{\s*allow:\s*\[([^\]]*)\]/.exec(permissions)?.[1]),
  }));
  const allowedBy = (kind) => (subject) =>
    users.filter((user) => user[kind].some((pattern) => covers(pattern, subject))).map(({ name }) => name);
  return { names: users.map(({ name }) => name), mayPublish: allowedBy('publish'), mayListen: allowedBy('subscribe') };
}

function subjectsIn(list = '') {
  return list
    .split(/[\s,]+/)
    .map((subject) => subject.replaceAll('"', ''))
    .filter(Boolean);
}

function covers(pattern, subject) {
  const tokens = subject.split('.');
  const parts = pattern.split('.');
  return (
    parts.every((part, at) => part === '>' || part === '*' || part === tokens[at]) &&
    (parts.at(-1) === '>' || parts.length === tokens.length)
  );
}
