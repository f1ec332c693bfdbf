import { type Scenario, saying } from './scenario.js';

const THREE = 'call weather {"city":"Rome"}, call traffic {"city":"Oslo"}, call clock {"zone":"Asia/Tokyo"}';

const CUSTOM_TOOLS = [{ client: 'messages', impossible: true, reason: 'Messages has only tools with a schema' }] as const;

/** Scenarios with tool calls. */
export const TOOL_CALLS: Scenario[] = [
  {
    name: 'one call',
    ask: { ...saying('call weather {"city":"Rome"}'), tools: ['weather', 'traffic'] },
    reply: { calls: [{ name: 'weather', input: { city: 'Rome' } }], ending: 'calls' },
  },
  {
    name: 'text, then a call without arguments',
    ask: { ...saying('call clock [[sim say="Let me look."]]'), tools: ['clock'] },
    reply: { text: 'Let me look.', calls: [{ name: 'clock', input: {} }], ending: 'calls' },
  },
  {
    name: 'a call whose arguments are cut in packets inside their characters',
    ask: { ...saying('call weather {"city":"São Paulo 🌍"} [[sim split]]'), tools: ['weather'] },
    reply: { calls: [{ name: 'weather', input: { city: 'São Paulo 🌍' } }], ending: 'calls' },
  },
  {
    name: 'a call with a number beyond a double',
    ask: { ...saying('call weather {"city":"Rome","id":12345678901234567890}'), tools: ['weather'] },
    reply: { calls: [{ name: 'weather', input: '{"city":"Rome","id":12345678901234567890}' }], ending: 'calls' },
    exceptions: [
      {
        client: 'messages',
        reply: { calls: [{ name: 'weather', input: { city: 'Rome', id: 12345678901234567000 } }] },
        reason: 'all digits are sent, but the client library parses them as numbers',
      },
    ],
  },
  {
    name: 'two calls of one tool',
    ask: { ...saying('call weather {"city":"Rome"}, call weather {"city":"Oslo"}'), tools: ['weather'] },
    reply: {
      calls: [
        { name: 'weather', input: { city: 'Rome' } },
        { name: 'weather', input: { city: 'Oslo' } },
      ],
      ending: 'calls',
    },
  },
  {
    name: 'reasoning, text and a call',
    ask: {
      model: 'sim-reason',
      showReasoning: true,
      ...saying('call weather {"city":"Rome"} [[sim think="Weather?" say="Let me look."]]'),
      tools: ['weather'],
    },
    reply: { reasoning: 'Weather?', text: 'Let me look.', calls: [{ name: 'weather', input: { city: 'Rome' } }], ending: 'calls' },
  },
  ...['', ' [[sim interleave]]'].map(
    (how): Scenario => ({
      name: `three parallel calls${how && ', interleaved by the upstream'}`,
      ask: { ...saying(THREE + how), tools: ['weather', 'traffic', 'clock'] },
      reply: {
        calls: [
          { name: 'weather', input: { city: 'Rome' } },
          { name: 'traffic', input: { city: 'Oslo' } },
          { name: 'clock', input: { zone: 'Asia/Tokyo' } },
        ],
        ending: 'calls',
      },
    }),
  ),
  {
    name: 'a forced call',
    ask: { ...saying('Now'), tools: ['weather', 'traffic'], toolChoice: { name: 'traffic' } },
    reply: { calls: [{ name: 'traffic', input: { city: 'sim' } }], ending: 'calls' },
  },
  {
    name: 'any call, with tool_choice required',
    ask: { ...saying('Now'), tools: ['weather', 'traffic'], toolChoice: 'required' },
    reply: { calls: [{ name: 'weather', input: { city: 'sim' } }], ending: 'calls' },
  },
  {
    name: 'no call, with tool_choice none',
    ask: { ...saying('call weather [[sim say="No."]]'), tools: ['weather'], toolChoice: 'none' },
    reply: { text: 'No.' },
    exceptions: [
      { dialect: 'bedrock-converse', withoutTools: true, reason: 'the dialect has no such choice: the request goes without its tools' },
    ],
  },
  {
    name: 'the results of two calls',
    ask: {
      tools: ['weather', 'traffic'],
      turns: [
        { role: 'user', text: 'call weather, call traffic' },
        {
          role: 'assistant',
          text: 'I ask.',
          calls: [
            { id: 'call_a', name: 'weather', input: { city: 'Rome' } },
            { id: 'call_b', name: 'traffic', input: { city: 'Oslo' } },
          ],
        },
        { role: 'tool', id: 'call_a', name: 'weather', result: '21 °C' },
        { role: 'tool', id: 'call_b', name: 'traffic', result: 'calm' },
      ],
    },
    reply: { text: 'The result is: 21 °C | calm.' },
  },
  {
    name: 'a custom tool beside a function, interleaved by the upstream',
    ask: { ...saying('call shell {"input":"date\\nls"}, call weather {"city":"Rome"} [[sim interleave]]'), tools: ['shell', 'weather'] },
    reply: {
      calls: [
        { name: 'shell', input: 'date\nls' },
        { name: 'weather', input: { city: 'Rome' } },
      ],
      ending: 'calls',
    },
    exceptions: [...CUSTOM_TOOLS],
  },
  {
    name: 'a forced custom tool',
    ask: { ...saying('call shell {"input":"date"}'), tools: ['weather', 'shell'], toolChoice: { name: 'shell' } },
    reply: { calls: [{ name: 'shell', input: 'date' }], ending: 'calls' },
    exceptions: [...CUSTOM_TOOLS],
  },
  {
    name: 'the result of a custom call',
    ask: {
      tools: ['shell'],
      turns: [
        { role: 'user', text: 'call shell' },
        { role: 'assistant', text: '', calls: [{ id: 'call_a', name: 'shell', input: 'date' }] },
        { role: 'tool', id: 'call_a', name: 'shell', result: 'Monday' },
      ],
    },
    reply: { text: 'The result is: Monday.' },
    exceptions: [...CUSTOM_TOOLS],
  },
  {
    name: 'a call of a tool in a namespace, and its result',
    ask: {
      tools: ['weather', 'spawn'],
      turns: [
        { role: 'user', text: 'call spawn' },
        { role: 'assistant', text: '', calls: [{ id: 'call_a', name: 'spawn', namespace: 'agents', input: { task: 'read' } }] },
        { role: 'tool', id: 'call_a', name: 'spawn', result: 'started' },
        { role: 'user', text: 'call spawn {"task":"write"}, call weather {"city":"Rome"}' },
      ],
    },
    reply: {
      calls: [
        { name: 'spawn', namespace: 'agents', input: { task: 'write' } },
        { name: 'weather', input: { city: 'Rome' } },
      ],
      ending: 'calls',
    },
    exceptions: [
      { client: 'chat', impossible: true, reason: 'chat has no namespaces' },
      { client: 'messages', impossible: true, reason: 'Messages has only tools with a schema' },
    ],
  },
];
