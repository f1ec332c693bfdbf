interface Call {
  url: string;
  key: string;
  model: string;
}

/** Calls of a model, ready to paste. */
export const CALLS = {
  curl: {
    title: 'curl',
    text: ({ url, key, model }: Call) =>
      [
        `curl ${url}/v1/chat/completions \\`,
        `  -H "authorization: Bearer ${key}" \\`,
        "  -H 'content-type: application/json' \\",
        `  -d '{"model":"${model}","messages":[{"role":"user","content":"Hello"}]}'`,
      ].join('\n'),
  },
  openai: {
    title: 'OpenAI SDK',
    text: ({ url, key, model }: Call) =>
      [
        "import OpenAI from 'openai';",
        '',
        `const client = new OpenAI({ baseURL: '${url}/v1', apiKey: '${key}' });`,
        'const completion = await client.chat.completions.create({',
        `  model: '${model}',`,
        "  messages: [{ role: 'user', content: 'Hello' }],",
        '});',
        'console.log(completion.choices[0].message.content);',
      ].join('\n'),
  },
  anthropic: {
    title: 'Anthropic SDK',
    text: ({ url, key, model }: Call) =>
      [
        'from anthropic import Anthropic',
        '',
        `client = Anthropic(base_url="${url}", api_key="${key}")`,
        `message = client.messages.create(model="${model}", max_tokens=100,`,
        '    messages=[{"role": "user", "content": "Hello"}])',
        'print(message.content[0].text)',
      ].join('\n'),
  },
} as const;
export type CallName = keyof typeof CALLS;
