/** The names of users, and functions that list those who may publish or subscribe to a subject. */
export interface Users {
  names: string[];
  mayPublish(subject: string): string[];
  mayListen(subject: string): string[];
}

/** Parses config/nats.conf. */
export function readUsers(text: string): Users {
  const plain = text.replace(/^\s*#.*$/gm, '');
  const users = [...plain.matchAll(/^([\w-]+) \{\n([\s\S]*?)^\}/gm)].map(([, name = '', permissions = '']) => ({
    name,
    publish: subjectsIn(/publish\s*\{\s*allow:\s*\[([^\]]*)\]/.exec(permissions)?.[1]),
    subscribe: subjectsIn(/subscribe\s*\{\s*allow:\s*\[([^\]]*)\]/.exec(permissions)?.[1]),
  }));
  const allowedBy = (kind: 'publish' | 'subscribe') => (subject: string) =>
    users.filter((user) => user[kind].some((pattern) => covers(pattern, subject))).map(({ name }) => name);
  return { names: users.map(({ name }) => name), mayPublish: allowedBy('publish'), mayListen: allowedBy('subscribe') };
}

function subjectsIn(list = ''): string[] {
  return list
    .split(/[\s,]+/)
    .map((subject) => subject.replaceAll('"', ''))
    .filter(Boolean);
}

function covers(pattern: string, subject: string): boolean {
  const tokens = subject.split('.');
  const parts = pattern.split('.');
  return (
    parts.every((part, at) => part === '>' || part === '*' || part === tokens[at]) &&
    (parts.at(-1) === '>' || parts.length === tokens.length)
  );
}
