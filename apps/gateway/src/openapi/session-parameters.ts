import { SESSION_BUDGET_HEADER, SESSION_HEADERS } from '../http/attribution.js';

const [name] = SESSION_HEADERS;

export const SESSION = {
  name,
  in: 'header',
  description: 'The session, or the run of an agent, that the request is a part of. Without it those of Claude Code and Codex count.',
  schema: { type: 'string' },
  example: 'run-42',
};

export const SESSION_BUDGET = {
  name: SESSION_BUDGET_HEADER,
  in: 'header',
  description:
    'The most that the session may cost, in dollars. It lowers the budget of each session, which must be there; the lowest that its requests have named counts.',
  schema: { type: 'string' },
  example: '0.20',
};
