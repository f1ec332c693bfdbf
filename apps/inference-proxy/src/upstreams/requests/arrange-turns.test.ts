import fc from 'fast-check';
import type { ToolCallPart, Turn } from '#inference/turn.js';
import { LINEAR_GROWTH_MAX, measureGrowth } from '#testing/growth.js';
import { arrangeTurns } from './arrange-turns.js';

const ANYWHERE = { systemMessages: 'anywhere', alternatingRoles: false } as const;
const FIRST = { systemMessages: 'first', alternatingRoles: false } as const;
const NONE = { systemMessages: 'none', alternatingRoles: false } as const;
const IN_TURN = { systemMessages: 'anywhere', alternatingRoles: true } as const;

const t = (value: string) => ({ type: 'text' as const, text: value });
const CALL: ToolCallPart = { type: 'tool-call', callId: 'a', tool: { name: 'x' }, wireName: 'x', kind: 'function', argumentsText: '{}' };

/** Parses a conversation: `system: A`, `user: B`, `assistant: C`, `call`, `result`. */
function parseTurns(...lines: string[]): Turn[] {
  return lines.map((line): Turn => {
    if (line === 'call') return { role: 'assistant', parts: [CALL] };
    if (line === 'result') return { role: 'tool', results: [{ callId: 'a', parts: [t('R')] }] };
    const [role = '', text = ''] = line.split(': ');
    return { role: role as 'system' | 'user' | 'assistant', parts: [t(text)] };
  });
}

/** Renders turns as the lines of `parseTurns`, the parts of a turn joined by `+`. */
function renderLines(turns: readonly Turn[]): string[] {
  return turns.map((turn) => {
    if (turn.role === 'tool') return 'result';
    const said = turn.parts.map((part) => (part.type === 'text' ? part.text : part.type === 'tool-call' ? 'call' : part.type));
    return said.join() === 'call' ? 'call' : `${turn.role}: ${said.join('+')}`;
  });
}

test('where nothing is asked for, nothing is touched', () => {
  const turns = parseTurns('system: A', 'user: B', 'system: C', 'assistant: D', 'assistant: E');
  expect(arrangeTurns(turns, ANYWHERE)).toBe(turns);
});

describe('system messages first [M-4, U-20]', () => {
  test.each<[string, string[], string[]]>([
    ['leading ones are one', ['system: A', 'system: B', 'user: C'], ['system: A+B', 'user: C']],
    ['a later one joins the user before it', ['user: A', 'system: B', 'assistant: C'], ['user: A+B', 'assistant: C']],
    ['or the user after it', ['user: A', 'assistant: B', 'system: C', 'user: D'], ['user: A', 'assistant: B', 'user: C+D']],
    ['behind the results of tools', ['user: A', 'call', 'result', 'system: B', 'user: C'], ['user: A', 'call', 'result', 'user: B+C']],
    ['never between calls and results', ['user: A', 'call', 'system: B', 'result'], ['user: A', 'call', 'result', 'user: B']],
    ['between two of the model it is a turn', ['user: A', 'assistant: B', 'system: C'], ['user: A', 'assistant: B', 'user: C']],
    ['alone it stays', ['system: A'], ['system: A']],
  ])('%s', (_name, turns, expected) => {
    expect(renderLines(arrangeTurns(parseTurns(...turns), FIRST))).toEqual(expected);
  });

  test('what has been said keeps its words when the conversation goes on: prompt caches keep their head', () => {
    const start = parseTurns('system: A', 'user: B', 'system: C', 'assistant: D');
    const longer = [...start, ...parseTurns('user: E', 'system: F')];
    const before = renderLines(arrangeTurns(start, FIRST));
    expect(renderLines(arrangeTurns(longer, FIRST)).slice(0, before.length)).toEqual(before);
  });
});

test("without a system role, its texts are the user's [U-20]", () => {
  expect(renderLines(arrangeTurns(parseTurns('system: A', 'system: B', 'user: C', 'assistant: D', 'system: E'), NONE))).toEqual([
    'user: A+B+C',
    'assistant: D',
    'user: E',
  ]);
});

describe('alternating roles [U-20]', () => {
  test.each<[string, string[], string[]]>([
    ['neighbours are one turn', ['user: A', 'user: B', 'assistant: C', 'call'], ['user: A+B', 'assistant: C+call']],
    ['the user is first', ['system: A', 'assistant: B', 'user: C'], ['system: A', 'user: (no message)', 'assistant: B', 'user: C']],
    [
      'between results and the user, the model speaks',
      ['user: A', 'call', 'result', 'user: B'],
      ['user: A', 'call', 'result', 'assistant: I have the results.', 'user: B'],
    ],
    [
      'results that the model answers stay as they are',
      ['user: A', 'call', 'result', 'assistant: B'],
      ['user: A', 'call', 'result', 'assistant: B'],
    ],
  ])('%s', (_name, turns, expected) => {
    expect(renderLines(arrangeTurns(parseTurns(...turns), IN_TURN))).toEqual(expected);
  });

  test('whatever the conversation: roles follow each other as they may, and every word is still there', () => {
    const follows: Record<string, string> = {
      start: 'system user',
      system: 'user',
      user: 'assistant',
      assistant: 'user tool',
      tool: 'assistant',
    };
    const said = (turns: readonly Turn[]) =>
      renderLines(turns)
        .flatMap((line) => line.match(/\b[SUAR]\d+|call|result/g) ?? [])
        .sort();
    fc.assert(
      fc.property(fc.array(fc.constantFrom('system: S', 'user: U', 'assistant: A', 'exchange')), (lines) => {
        const turns = parseTurns(...lines.flatMap((line, at) => (line === 'exchange' ? ['call', 'result'] : [`${line}${at}`])));
        const arranged = arrangeTurns(turns, { systemMessages: 'first', alternatingRoles: true });
        let before = 'start';
        for (const { role } of arranged) {
          expect(follows[before]?.split(' ')).toContain(role);
          before = role;
        }
        const words = said(arranged.filter((turn) => !renderLines([turn])[0]?.includes('I have the results.')));
        expect(words).toEqual(said(turns));
      }),
    );
  });
});

test('turns of one role and instructions without end are merged in a time that grows as they do', async () => {
  const conversations = new Map<number, Turn[]>();
  const growth = await measureGrowth((size) => {
    const turns = conversations.get(size) ?? Array.from({ length: size }, () => parseTurns('user: A', 'system: B')).flat();
    conversations.set(size, turns);
    expect(arrangeTurns(turns, NONE)).toHaveLength(1);
  }, 750);
  expect(growth).toBeLessThan(LINEAR_GROWTH_MAX);
});
