import { type Finding, judgeFailure, type ProbeResult } from '../probe-result.js';
import { type Check, no, says, yes } from './check.js';

const BRIEF = says('system', 'You answer in one word.');
const QUESTION = says('user', 'Which is larger, two or three?');

export const turnChecks: Check[] = [
  {
    id: 'developer-role',
    title: 'takes the developer role',
    async run(prober) {
      const system = await prober.send({ turns: [BRIEF, QUESTION], capabilities: { developerRole: false } });
      const developer = await prober.send({ turns: [BRIEF, QUESTION], capabilities: { developerRole: true } });
      return judgeRole(developer, system);
    },
  },
  {
    id: 'system-messages',
    title: 'system messages anywhere',
    async run(prober) {
      const later = [BRIEF, says('user', 'Hello.'), says('assistant', 'Hello.'), says('system', 'Be brief.'), QUESTION];
      const anywhere = await prober.send({ turns: later, capabilities: { systemMessages: 'anywhere' } });
      if (anywhere.failure?.kind !== 'rejected') return judgeTaken(anywhere, { systemMessages: 'anywhere' });
      const first = await prober.send({ turns: later, capabilities: { systemMessages: 'first' } });
      if (first.failure === undefined) return no('only as the first message', { systemMessages: 'first' });
      const none = await prober.send({ turns: later, capabilities: { systemMessages: 'none' } });
      return none.failure === undefined ? no('none at all', { systemMessages: 'none' }) : judgeFailure(anywhere.failure);
    },
  },
  {
    id: 'same-role',
    title: 'two messages of one role',
    async run(prober) {
      const turns = [says('assistant', 'I am ready.'), says('user', 'Listen.'), QUESTION];
      const result = await prober.send({ turns, capabilities: { alternatingRoles: false } });
      if (result.failure?.kind !== 'rejected') return judgeTaken(result, { alternatingRoles: false });
      const other = await prober.send({ turns, capabilities: { alternatingRoles: true } });
      return other.failure === undefined
        ? no('user and assistant must alternate', { alternatingRoles: true })
        : judgeFailure(result.failure);
    },
  },
];

/** Judges the same conversation with either role: `developer` is used only where `system` is refused. */
export function judgeRole(developer: ProbeResult, system: ProbeResult): Finding {
  if (developer.failure !== undefined) return judgeFailure(developer.failure, { developerRole: false });
  if (system.failure?.kind === 'rejected') return yes('and not the system role', { developerRole: true });
  return yes('as well as the system role');
}

/** Judges only whether the request was accepted. */
export function judgeTaken({ failure, finishReason }: ProbeResult, ifTaken?: Finding['learned'], ifRefused?: Finding['learned']): Finding {
  return failure === undefined ? yes(`taken, finish ${finishReason}`, ifTaken) : judgeFailure(failure, ifRefused);
}
