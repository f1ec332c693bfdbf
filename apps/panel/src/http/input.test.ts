import { ArrayMaxSize, IsArray, IsIn, IsInt, IsOptional, Max } from 'class-validator';
import { Id, Text } from '#contracts/billing/fields.js';
import { parseInput } from './input.js';

class Question {
  @IsOptional() @Id() accountId?: string;
  @IsOptional() @IsArray() @ArrayMaxSize(2) @IsIn(['model', 'key'], { each: true }) groupBy?: string[];
  @IsOptional() @IsInt() @Max(200) limit?: number;
  @IsOptional() @Text(20) name?: string;
}

const ID = '0190a6f0-7c1e-7000-8000-000000000001';
const get = (query: object, params: Record<string, string> = {}): Question =>
  parseInput(Question, { method: 'GET', params, query, body: undefined });
const post = (body: unknown, params: Record<string, string> = {}): Question =>
  parseInput(Question, { method: 'POST', params, query: {}, body });

test('a query has whole numbers, lists and texts', () => {
  expect(get({ groupBy: 'model,key', limit: '50', name: '50', other: 'x' })).toEqual({ groupBy: ['model', 'key'], limit: 50, name: '50' });
});

test('an id of the path wins over the query and the body', () => {
  const other = ID.replace('1', '2');
  expect(get({ accountId: other }, { accountId: ID.toUpperCase() })).toEqual({ accountId: ID });
  expect(post({ accountId: other, name: 'a' }, { accountId: ID })).toEqual({ accountId: ID, name: 'a' });
});

test('the account `all` of the path is no account', () => {
  expect(get({}, { accountId: 'all' })).toEqual({});
});

test('a body may be absent', () => {
  expect(post(undefined, { accountId: ID })).toEqual({ accountId: ID });
});

test.each([
  [{ limit: '5x' }, 'limit'],
  [{ limit: '500' }, 'limit'],
  [{ limit: ['1', '2'] }, 'limit'],
  [{ groupBy: 'model,color' }, 'groupBy'],
  [{ accountId: 'x' }, 'accountId'],
])('the query %j is refused', (query, param) => {
  expect(() => get(query)).toThrow(expect.objectContaining({ code: 'invalid_request', param }));
});

test.each([[[]], ['text'], [7], [null]])('the body %j is refused', (body) => {
  expect(() => post(body)).toThrow(expect.objectContaining({ code: 'invalid_request' }));
});
