import type { AgentSetup } from './agent.js';
import { testAgent } from './test-agent.js';

function provider({ format, gatewayUrl }: AgentSetup): Record<string, string> {
  if (format === 'messages') return { COPILOT_PROVIDER_TYPE: 'anthropic', COPILOT_PROVIDER_BASE_URL: gatewayUrl };
  return {
    COPILOT_PROVIDER_BASE_URL: `${gatewayUrl}/v1`,
    COPILOT_PROVIDER_WIRE_API: format === 'responses' ? 'responses' : 'completions',
  };
}

await testAgent({
  ...{ name: 'Copilot CLI', package: '@github/copilot', version: '1.0.102', command: 'copilot' },
  formats: ['chat', 'responses', 'messages'],
  configure: (setup) => ({
    env: {
      ...provider(setup),
      ...{ COPILOT_PROVIDER_API_KEY: setup.apiKey, COPILOT_MODEL: setup.model, COPILOT_OFFLINE: 'true' },
      COPILOT_PROVIDER_MAX_PROMPT_TOKENS: String(setup.contextTokens - setup.outputTokens),
      COPILOT_PROVIDER_MAX_OUTPUT_TOKENS: String(setup.outputTokens),
    },
  }),
  invoke: (prompt, _setup, continues) => ({
    args: ['--silent', '--allow-all-tools', ...(continues ? ['--continue'] : []), '--prompt', prompt],
  }),
  callToRead: (path) => `call view ${JSON.stringify({ path })}`,
  callToWrite: (path, text) => `call create ${JSON.stringify({ path, file_text: text })}`,
  onOverflow: 'compacts-whole',
});
