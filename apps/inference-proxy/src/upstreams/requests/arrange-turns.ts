import type { UpstreamCapabilities } from '#contracts/catalog.js';
import type { AssistantTurn, SystemTurn, TextPart, ToolTurn, Turn, UserTurn } from '#inference/turn.js';
import { countLeadingSystemTurns } from './leading-system-turns.js';

type Arrangement = Pick<UpstreamCapabilities, 'systemMessages' | 'alternatingRoles'>;

/** Sent as the user's turn when a conversation begins with the model and the upstream requires the user first. */
export const NO_MESSAGE = '(no message)';
/** Sent as the model's turn between tool results and the user's next turn, when roles must alternate. */
const RESULTS_SEEN = 'I have the results.';

/**
 * Returns the turns in an order that the upstream's chat template accepts: system messages only where it allows them, and alternating
 * roles. Early turns never depend on later ones, so that prompt caches keep matching.
 */
export function arrangeTurns(turns: readonly Turn[], { systemMessages, alternatingRoles }: Arrangement): readonly Turn[] {
  if (systemMessages === 'anywhere' && !alternatingRoles) return turns;
  const placed = mergeNeighbours(systemMessages === 'anywhere' ? turns : foldSystemTurns(turns, systemMessages));
  return alternatingRoles ? alternate(placed) : placed;
}

/** Turns system turns into user turns where they are not allowed: in place, but never between calls and their results. */
function foldSystemTurns(turns: readonly Turn[], keep: 'first' | 'none'): Turn[] {
  const leading = keep === 'none' ? 0 : countLeadingSystemTurns(turns);
  const folded: Turn[] = turns.slice(0, leading);
  let waiting: UserTurn[] = [];
  const placeWaiting = (): void => {
    for (const turn of waiting) folded.push(turn);
    waiting = [];
  };
  for (const turn of turns.slice(leading)) {
    if (turn.role === 'system') {
      waiting.push({ role: 'user', parts: turn.parts });
      continue;
    }
    if (turn.role !== 'tool') placeWaiting();
    folded.push(turn);
    placeWaiting();
  }
  placeWaiting();
  return folded;
}

/** Joins neighbouring turns of one role. Linear, because the client chooses how many there are. */
function mergeNeighbours(turns: readonly Turn[]): Turn[] {
  const runs: [Turn, ...Turn[]][] = [];
  for (const turn of turns) {
    const run = runs.at(-1);
    if (run?.[0].role === turn.role) run.push(turn);
    else runs.push([turn]);
  }
  return runs.map((run) => (run.length === 1 ? run[0] : joined(run[0].role, run)));
}

function joined(role: Turn['role'], run: readonly Turn[]): Turn {
  switch (role) {
    case 'system':
      return { role, parts: run.flatMap((turn) => (turn.role === role ? turn.parts : [])) } satisfies SystemTurn;
    case 'user':
      return { role, parts: run.flatMap((turn) => (turn.role === role ? turn.parts : [])) } satisfies UserTurn;
    case 'assistant':
      return { role, parts: run.flatMap((turn) => (turn.role === role ? turn.parts : [])) } satisfies AssistantTurn;
    case 'tool':
      return { role, results: run.flatMap((turn) => (turn.role === role ? turn.results : [])) } satisfies ToolTurn;
  }
}

/** Inserts turns so that the user is first and the model follows tool results. Neighbours of one role have been joined. */
function alternate(turns: readonly Turn[]): Turn[] {
  const alternating: Turn[] = [];
  for (const turn of turns) {
    const before = alternating.at(-1)?.role;
    const isFirst = before === undefined || before === 'system';
    if (turn.role !== 'user' && turn.role !== 'system' && isFirst) alternating.push({ role: 'user', parts: [text(NO_MESSAGE)] });
    if (turn.role === 'user' && before === 'tool') alternating.push({ role: 'assistant', parts: [text(RESULTS_SEEN)] });
    alternating.push(turn);
  }
  return alternating;
}

function text(value: string): TextPart {
  return { type: 'text', text: value };
}
