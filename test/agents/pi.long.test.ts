import type { Format } from './agent.js';
import { testAgent } from './test-agent.js';

const APIS: Record<Format, string> = { chat: 'openai-completions', responses: 'openai-responses', messages: 'anthropic-messages' };

await testAgent({
  ...{ name: 'pi', package: '@earendil-works/pi-coding-agent', version: '1.6.0', command: 'pi' },
  formats: ['chat', 'responses', 'messages'],
  configure: ({ format, gatewayUrl, apiKey, model, contextTokens, outputTokens }) => ({
    files: {
      '.pi/agent/models.json': JSON.stringify({
        providers: {
          tollgate: {
            ...{ api: APIS[format], apiKey: '$TOLLGATE_KEY', baseUrl: format === 'messages' ? gatewayUrl : `${gatewayUrl}/v1` },
            models: [{ id: model, contextWindow: contextTokens, maxTokens: outputTokens }],
          },
        },
      }),
    },
    env: { TOLLGATE_KEY: apiKey, PI_OFFLINE: '1' },
  }),
  invoke: (prompt, { model }, continues) => ({
    args: ['--print', '--provider', 'tollgate', '--model', model, ...(continues ? ['--continue'] : [])],
    input: prompt,
  }),
  callToRead: (path) => `call read ${JSON.stringify({ path })}`,
  callToWrite: (path, content) => `call write ${JSON.stringify({ path, content })}`,
  onOverflow: 'compacts',
});
