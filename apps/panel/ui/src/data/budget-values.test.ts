import { type Counting, parseValues } from './budgets.js';

test.each<[counting: Counting, text: string, values: object | undefined]>([
  ['all', '', {}],
  ['each-user', '', { dimension: 'user' }],
  ['each-session', '', { dimension: 'session' }],
  ['session', ' run 1 ', { dimension: 'session', value: 'run 1' }],
  ['user', ' alice ', { dimension: 'user', value: 'alice' }],
  ['user', ' ', undefined],
  ['each-agent', '', { dimension: 'agent' }],
  ['agent', ' explorer ', { dimension: 'agent', value: 'explorer' }],
  ['each-client', '', { dimension: 'client' }],
  ['client', 'OpenAI/Python', { dimension: 'client', value: 'OpenAI/Python' }],
  ['client', '', undefined],
  ['each-tag', 'team', { dimension: 'tag:team' }],
  ['each-tag', 'team=search', undefined],
  ['each-tag', 'two words', undefined],
  ['tag', 'team=a=b', { dimension: 'tag:team', value: 'a=b' }],
  ['tag', 'team', undefined],
  ['tag', 'team=', undefined],
])('a budget of %s %j', (counting, text, values) => {
  expect(parseValues(counting, text)).toEqual(values);
});
