/**
 * Five turns: a call, text, text with two parallel calls, a call without arguments and with an empty result, text with line breaks and
 * quotes. The simulator quotes results, so that a lost one shows in the answer.
 */
export const SYSTEM = 'You plan trips.';
export const OUTPUT_TOKENS_MAX = 3_000;

export const TURNS: { user: string; answer: string }[] = [
  {
    user: 'call get_weather {"city":"Rome"} [[sim think="Rome, then."]]',
    answer: 'The result is: 21 °C in Rome, "sunny" 🙂.',
  },
  { user: 'And what to wear? [[sim say="A hat."]]', answer: 'A hat.' },
  {
    user: 'call get_weather {"city":"Oslo","days":[1,2]}, call get_time {"city":"Oslo"} [[sim tokens=2 interleave think="Both\\nthings."]]',
    answer: 'The result is: 21 °C in Oslo, "sunny" 🙂 | {"hour":12}. A quiet',
  },
  { user: 'call list_trips', answer: 'The result is: .' },
  { user: 'Thanks [[sim say="Say \\"bye\\",\\n\\tthen go."]]', answer: 'Say "bye",\n\tthen go.' },
];

interface City {
  city: string;
}

const city = { type: 'string', description: 'Its name' };

interface Tool {
  name: string;
  description: string;
  parameters: { type: 'object'; properties: Record<string, object>; required?: string[]; additionalProperties: boolean };
  run(input: unknown): string;
}

/** The tools and their results. */
export const TOOLS: Tool[] = [
  {
    name: 'get_weather',
    description: 'Weather of a city',
    parameters: {
      type: 'object',
      properties: { city, days: { type: 'array', items: { type: 'number' } } },
      required: ['city'],
      additionalProperties: false,
    },
    run: (input) => `21 °C in ${(input as City).city}, "sunny" 🙂`,
  },
  {
    name: 'get_time',
    description: 'Time in a city',
    parameters: { type: 'object', properties: { city }, required: ['city'], additionalProperties: false },
    run: () => '{"hour":12}',
  },
  {
    name: 'list_trips',
    description: 'The trips so far',
    parameters: { type: 'object', properties: {}, additionalProperties: false },
    run: () => '',
  },
];

/** Runs a tool by its name; `argumentsText` is JSON. */
export function runTool(name: string, argumentsText: string): string {
  const tool = TOOLS.find((candidate) => candidate.name === name);
  if (!tool) throw new Error(`there is no tool ${name}`);
  return tool.run(JSON.parse(argumentsText));
}
