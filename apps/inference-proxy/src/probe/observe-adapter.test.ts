import { findReasoningField } from './observe-adapter.js';

test.each([
  ['reasoning_content', '{"choices":[{"delta":{"reasoning_content":"Well"}}]}'],
  ['reasoning', '{"choices":[{"delta":{"content":"","reasoning": "Well"}}]}'],
  ['reasoning_details', '{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","text":"Well"}]}}]}'],
  ['thinking', '{"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Well"}]}]}}]}'],
  ['reasoning_summary_text', '{"type":"response.reasoning_summary_text.delta","delta":"Well"}'],
  ['reasoning_text', '{"type":"response.reasoning_text.delta","delta":"Well"}'],
  ['summary_text', '{"output":[{"type":"reasoning","summary":[{"type":"summary_text","text":"Well"}]}]}'],
  ['thinking', '{"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"Well"}}'],
  ['thought', '{"candidates":[{"content":{"parts":[{"text":"Well","thought": true}]}}]}'],
])('reasoning in %s', (field, payload) => {
  expect(findReasoningField(payload)).toBe(field);
});

test.each([
  '{"choices":[{"delta":{"content":"the field reasoning_content is empty","reasoning_content":""}}]}',
  '{"choices":[{"delta":{"reasoning":null,"reasoning_details":[]}}]}',
  '{"type":"response.created","response":{"reasoning":{"effort":null,"summary":null}}}',
  '{"type":"content_block_start","content_block":{"type":"thinking","thinking":""}}',
])('none in %s', (payload) => {
  expect(findReasoningField(payload)).toBeUndefined();
});
