export interface ChatMessage {
  role: 'system' | 'user' | 'assistant';
  content: string;
}

export interface Call {
  /** Address of the gateway, without `/v1`. */
  url: string;
  /** Absent: the program reads it from the variable TOLLGATE_KEY. */
  key?: string;
  model: string;
  /** Absent: a greeting. */
  messages?: readonly ChatMessage[] | undefined;
  maxTokens?: number | undefined;
  temperature?: number | undefined;
}

const HELLO: readonly ChatMessage[] = [{ role: 'user', content: 'Hello' }];

/** Calls of a model, ready to paste. */
export const CALLS = {
  curl: {
    title: 'curl',
    text: (call: Call) =>
      [
        `curl ${call.url}/v1/chat/completions \\`,
        `  -H "authorization: Bearer ${call.key ?? '$TOLLGATE_KEY'}" \\`,
        "  -H 'content-type: application/json' \\",
        `  -d '${JSON.stringify(chatRequest(call)).replaceAll("'", "'\\''")}'`,
      ].join('\n'),
  },
  openai: {
    title: 'OpenAI SDK',
    text: (call: Call) =>
      [
        "import OpenAI from 'openai';",
        '',
        `const client = new OpenAI({ baseURL: '${call.url}/v1', apiKey: ${call.key ? `'${call.key}'` : 'process.env.TOLLGATE_KEY'} });`,
        'const completion = await client.chat.completions.create({',
        ...Object.entries(chatRequest(call)).flatMap(([name, value]) =>
          Array.isArray(value)
            ? [`  ${name}: [`, ...value.map((one) => `    ${inScript(one)},`), '  ],']
            : [`  ${name}: ${inScript(value)},`],
        ),
        '});',
        'console.log(completion.choices[0].message.content);',
      ].join('\n'),
  },
  anthropic: {
    title: 'Anthropic SDK',
    text: (call: Call) => {
      const { url, key, model, messages = HELLO, maxTokens = 100, temperature } = call;
      const system = messages.filter(({ role }) => role === 'system').map(({ content }) => content);
      return [
        ...(key ? [] : ['import os']),
        'from anthropic import Anthropic',
        '',
        `client = Anthropic(base_url="${url}", api_key=${key ? `"${key}"` : 'os.environ["TOLLGATE_KEY"]'})`,
        'message = client.messages.create(',
        `    model=${JSON.stringify(model)},`,
        `    max_tokens=${maxTokens},`,
        ...(temperature === undefined ? [] : [`    temperature=${temperature},`]),
        ...(system.length > 0 ? [`    system=${JSON.stringify(system.join('\n'))},`] : []),
        '    messages=[',
        ...messages
          .filter(({ role }) => role !== 'system')
          .map(({ role, content }) => `        {"role": "${role}", "content": ${JSON.stringify(content)}},`),
        '    ],',
        ')',
        'print(message.content[0].text)',
      ].join('\n');
    },
  },
} as const;
export type CallName = keyof typeof CALLS;

/** The body of a call in Chat Completions. */
export function chatRequest({ model, messages = HELLO, maxTokens, temperature }: Omit<Call, 'url'>): Record<string, unknown> {
  return {
    model,
    messages,
    ...(maxTokens !== undefined && { max_tokens: maxTokens }),
    ...(temperature !== undefined && { temperature }),
  };
}

/** A value as a person writes it in a script. */
function inScript(value: unknown): string {
  if (typeof value === 'object' && value !== null) {
    return `{ ${Object.entries(value)
      .map(([name, one]) => `${name}: ${inScript(one)}`)
      .join(', ')} }`;
  }
  if (typeof value !== 'string') return String(value);
  return `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}
