import { type Exception, type Reply, type Scenario, saying } from './scenario.js';

/** Exceptions of formats and dialects without stop sequences. `written` is the reply without a stop. */
function stopping(written: Partial<Reply>): Exception[] {
  return [
    { client: 'responses', impossible: true, reason: 'Responses has no stop sequences' },
    {
      dialect: 'openai-responses',
      written,
      reason: 'the dialect has no stop sequences: Tollgate reads the upstream to its end for the usage',
    },
  ];
}

const CUT_CALL: Exception[] = [
  {
    dialect: ['anthropic-messages', 'bedrock-converse'],
    mode: 'plain',
    reply: { calls: [{ name: 'weather', input: {} }] },
    reason: 'its plain replies have only whole objects, so cut arguments never arrive',
  },
  {
    dialect: 'gemini',
    reply: { calls: [{ name: 'weather', input: {} }] },
    reason: 'its calls come whole, so cut arguments never arrive',
  },
];

/** Scenarios with replies that are cut, stopped or empty. */
export const ENDS: Scenario[] = [
  {
    name: 'a stop sequence across pieces',
    ask: { ...saying('[[sim say="One two END three four five six seven eight" rate=20]]'), stop: ['wo END th', 'nine'] },
    reply: { text: 'One t' },
    exceptions: stopping({ text: 'One two END three four five six seven eight' }),
  },
  {
    name: 'a stop sequence before a call',
    ask: { ...saying('call weather {"city":"Rome"} [[sim say="One END two"]]'), tools: ['weather'], stop: ['END'] },
    reply: { text: 'One ' },
    exceptions: stopping({ text: 'One END two', calls: [{ name: 'weather', input: { city: 'Rome' } }] }),
  },
  {
    name: 'nothing before a stop sequence',
    ask: { ...saying('[[sim say="END of it"]]'), stop: ['END'] },
    reply: {},
    exceptions: stopping({ text: 'END of it' }),
  },
  {
    name: 'a length cut',
    ask: { ...saying('[[sim say="One two three four five six seven eight nine ten eleven twelve thirteen fourteen"]]'), maxTokens: 16 },
    reply: { text: 'One two three four five six seven eight nine ten eleven twelve t', ending: 'length' },
  },
  {
    name: 'a length cut within reasoning',
    ask: {
      model: 'sim-reason',
      showReasoning: true,
      ...saying('[[sim think="First the one, then the other, and in the end neither of them, or so it seems." say="Never said."]]'),
      maxTokens: 16,
    },
    reply: { reasoning: 'First the one, then the other, and in the end neither of them, o', ending: 'length' },
  },
  {
    name: 'a length cut inside a tool call',
    ask: {
      ...saying('call weather {"days":3,"city":"Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch"}, call traffic'),
      tools: ['weather', 'traffic'],
      maxTokens: 16,
    },
    reply: { calls: [{ name: 'weather', input: '{"days":3,"city":"Llanfairpwllgwyngyllgogerychwyrndrobwll' }], ending: 'length' },
    exceptions: CUT_CALL,
  },
  {
    name: 'a limit below the minimum of some dialects',
    ask: { ...saying('[[sim say="One two three four"]]'), maxTokens: 2 },
    reply: { text: 'One two ', ending: 'length' },
  },
  {
    name: 'a limit below the minimum of some dialects, inside a tool call',
    ask: { ...saying('call weather {"days":3,"city":"Llandudno"}, call traffic'), tools: ['weather', 'traffic'], maxTokens: 5 },
    reply: { calls: [{ name: 'weather', input: '{"days":3,"ci' }], ending: 'length' },
    exceptions: CUT_CALL,
  },
  {
    name: 'an empty reply',
    ask: saying('[[sim say=""]]'),
    failure: { code: 'upstream_error', status: 502 },
  },
  {
    name: "nothing after the assistant's own words",
    ask: {
      turns: [
        { role: 'user', text: 'Hello [[sim say=""]]' },
        { role: 'assistant', text: 'All is said.' },
      ],
    },
    reply: {},
  },
];
