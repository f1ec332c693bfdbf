import type { Format } from './agent.js';
import { testAgent } from './test-agent.js';

const PACKAGES: Record<Format, string> = { chat: '@ai-sdk/openai-compatible', responses: '@ai-sdk/openai', messages: '@ai-sdk/anthropic' };

await testAgent({
  ...{ name: 'Kilo Code CLI', package: '@kilocode/cli', version: '7.7.7', command: 'kilo' },
  formats: ['chat', 'responses', 'messages'],
  configure: ({ format, gatewayUrl, apiKey, model, contextTokens, outputTokens }) => ({
    files: {
      '.config/kilo/kilo.json': JSON.stringify({
        provider: {
          tollgate: {
            ...{ npm: PACKAGES[format], options: { baseURL: `${gatewayUrl}/v1`, apiKey: '{env:TOLLGATE_KEY}' } },
            models: { [model]: { limit: { context: contextTokens, output: outputTokens } } },
          },
        },
        ...{ model: `tollgate/${model}`, small_model: `tollgate/${model}` },
      }),
    },
    env: { TOLLGATE_KEY: apiKey, KILO_DISABLE_MODELS_FETCH: '1', KILO_TELEMETRY_LEVEL: 'off', KILO_DISABLE_AUTOUPDATE: '1' },
  }),
  invoke: (prompt, _setup, continues) => ({ args: ['run', '--auto', ...(continues ? ['--continue'] : [])], input: prompt }),
  callToRead: (filePath) => `call read ${JSON.stringify({ filePath })}`,
  callToWrite: (filePath, content) => `call write ${JSON.stringify({ filePath, content })}`,
  onOverflow: 'compacts',
});
