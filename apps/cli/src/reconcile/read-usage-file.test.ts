import { readUsageFile } from './read-usage-file.js';

test('adds up the rows of a day and model, as OpenAI exports them', () => {
  const text = `\uFEFFstart_time,start_time_iso,project_id,num_model_requests,model,input_tokens,output_tokens,input_cached_tokens
1800000000,2027-01-15T08:00:00+00:00,proj_1,2,gpt-x,100,20,30
1800010800,2027-01-15T11:00:00+00:00,"proj, 2",1,gpt-x,10,2,
1800100000,2027-01-16T23:30:00-05:00,proj_1,1,gpt-x,1,1,0
`;
  expect(readUsageFile(text)).toEqual([
    { day: '2027-01-15', model: 'gpt-x', counts: { requests: 3, prompt: 110, cached: 30, output: 22 } },
    { day: '2027-01-17', model: 'gpt-x', counts: { requests: 1, prompt: 1, cached: 0, output: 1 } },
  ]);
});

test('adds the parts of a prompt that are counted apart, as Anthropic exports them', () => {
  const text =
    'usage_date_utc,model_version,usage_input_tokens_no_cache,usage_input_tokens_cache_write_5m,usage_input_tokens_cache_write_1h,usage_input_tokens_cache_read,usage_output_tokens\r\n' +
    '2027-01-15,claude-x,100,5,6,30,20\r\n';
  expect(readUsageFile(text)).toEqual([
    { day: '2027-01-15', model: 'claude-x', counts: { prompt: 141, cached: 30, written: 11, output: 20 } },
  ]);
});

test('reads columns by the names that are given', () => {
  const text = 'Date,Engine,Tokens in,input_tokens\n2027-01-15,a,7,9\n';
  expect(readUsageFile(text, { day: 'Date', model: 'Engine', prompt: 'Tokens in' })).toEqual([
    { day: '2027-01-15', model: 'a', counts: { prompt: 7 } },
  ]);
});

test.each([
  ['', 'no column is known to be the day: name it with --columns "day=…"'],
  ['day,input_tokens\n', 'no column is known to be the model: name it with --columns "model=…"'],
  ['day,model\n2027-01-15,a\n', 'no column is known to be a count of requests or tokens: name it with --columns'],
  ['day,model,input_tokens\n15.1.2027,a,1\n', 'line 2: day is "15.1.2027"'],
  ['day,model,input_tokens\n2027-13-45,a,1\n', 'line 2: day is "2027-13-45"'],
  ['day,model,input_tokens\n2027-01-15,,1\n', 'line 2: model is ""'],
  ['day,model,input_tokens\n2027-01-15,a,1\n2027-01-15,a,1.5\n', 'line 3: prompt is "1.5"'],
])('refuses %j', (text, problem) => {
  expect(() => readUsageFile(text)).toThrow(problem);
});

test('refuses a column that the file does not have', () => {
  expect(() => readUsageFile('day,model,input_tokens\n', { output: 'Out' })).toThrow('the file has no column Out');
});
