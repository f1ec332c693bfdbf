import type { PgConnection } from '#database/pg-connection.js';
import { assignmentsOf, type Columns, listNames, type Statement, statement } from './statement.js';

interface Item {
  id: string;
  cost: bigint;
  note?: string;
  tags?: object;
}

const KEY: Columns<Item> = { id: ['uuid', (row) => row.id] };
const CHANGED: Columns<Item> = {
  cost: ['int8', (row) => row.cost],
  note: ['text', (row) => row.note],
  tags: ['jsonb', (row) => row.tags],
};

test('text and parameters follow from the columns', async () => {
  const write = statement<{ items: Item[]; ids: string[]; at: string }>('write_items', (inputs) => {
    const at = inputs.value((input) => input.at);
    const items = inputs.rows({ ...KEY, ...CHANGED }, (input) => input.items);
    const ids = inputs.array('uuid', (input) => input.ids);
    return `UPDATE item i SET ${assignmentsOf(CHANGED)} FROM ${items.as('s')} WHERE i.id = s.id AND i.id = ANY (${ids})
      AND ${items.count} > 0 AND ${items.first} <> $1 AND at < ${at}; INSERT (${items.names}) unnest(${items.arrays})`;
  });
  const items = [
    { id: 'a', cost: 12n, note: 'one, \\ "two"', tags: { a: 1 } },
    { id: 'b', cost: 0n },
  ];
  expect(await sent(write, { items, ids: ['c'], at: 'now' })).toEqual({
    name: 'write_items',
    text: `UPDATE item i SET cost = s.cost, note = s.note, tags = s.tags FROM unnest($2::uuid[], $3::int8[], $4::text[], $5::jsonb[]) AS s (id, cost, note, tags) WHERE i.id = s.id AND i.id = ANY ($6::uuid[])
      AND cardinality($2::uuid[]) > 0 AND $2::uuid[] <> $1 AND at < $1; INSERT (id, cost, note, tags) unnest($2::uuid[], $3::int8[], $4::text[], $5::jsonb[])`,
    values: ['now', '{a,b}', '{12,0}', '{"one, \\\\ \\"two\\"",NULL}', '{"{\\"a\\":1}",NULL}', '{c}'],
  });
});

test('the text is built once, and each use reads the rows once', async () => {
  const calls: string[] = [];
  const read = statement<Item[]>('read_items', (inputs) => {
    calls.push('built');
    const readRows = (items: Item[]): Item[] => {
      calls.push('read');
      return items;
    };
    return `SELECT * FROM ${inputs.rows({ ...KEY, ...CHANGED }, readRows).as('s')}`;
  });
  expect(await sent(read, [])).toMatchObject({ values: ['{}', '{}', '{}', '{}'] });
  expect(await sent(read, [{ id: 'a', cost: 1n }])).toMatchObject({ values: ['{a}', '{1}', '{NULL}', '{NULL}'] });
  expect(calls).toEqual(['built', 'read', 'read']);
});

test('names of columns', () => expect(listNames(CHANGED)).toBe('cost, note, tags'));

async function sent<Input>({ execute }: Statement<Input, object>, input: Input): Promise<unknown> {
  const query = (config: unknown): Promise<unknown> => Promise.resolve(config);
  return execute({ query } as unknown as PgConnection, input);
}
