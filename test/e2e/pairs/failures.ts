import { type Scenario, saying } from './scenario.js';

/** Scenarios with upstream failures. A failure before content costs nothing; received content is billed by estimate. */
export const FAILURES: Scenario[] = [
  {
    name: 'an error status',
    ask: saying('[[sim status=500]]'),
    failure: { code: 'upstream_error', status: 502 },
  },
  {
    name: 'an upstream at capacity',
    ask: saying('[[sim status=429 retry-after=7]]'),
    failure: { code: 'model_capacity', status: 429 },
  },
  {
    name: 'a prompt that does not fit',
    ask: saying('[[sim overflow]]'),
    failure: { code: 'context_length_exceeded', status: 400 },
  },
  {
    name: 'an error before content',
    ask: saying('[[sim say="Never said." error=0]]'),
    failure: { code: 'upstream_error', status: 502 },
  },
  {
    name: 'an error after content',
    ask: saying('[[sim say="One two three four five" error=3]]'),
    failure: { code: 'upstream_error', status: 502, textBefore: 'One two thre' },
  },
  {
    name: 'an error inside a tool call',
    ask: { ...saying('call weather {"city":"Rome"} [[sim error=2]]'), tools: ['weather'] },
    failure: { code: 'upstream_error', status: 502, writtenBefore: 'weather{"city":' },
    exceptions: [{ dialect: 'gemini', impossible: true, reason: 'its calls come whole' }],
  },
  {
    name: 'a stream without its end, after content',
    ask: saying('[[sim say="One two three four five" close=3]]'),
    failure: { code: 'upstream_error', status: 502, textBefore: 'One two thre' },
  },
];
