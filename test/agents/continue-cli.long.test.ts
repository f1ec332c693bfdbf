import { testAgent } from './test-agent.js';

await testAgent({
  ...{ name: 'Continue CLI', package: '@continuedev/cli', version: '1.5.47', command: 'cn' },
  formats: ['chat', 'responses', 'messages'],
  configure: ({ format, gatewayUrl, apiKey, model, contextTokens, outputTokens }) => ({
    files: {
      // Names of OpenAI's reasoning models choose Responses, and nothing else does.
      '.continue/config.yaml': `
        name: Tollgate
        version: 1.0.0
        schema: v1
        models:
          - name: Tollgate
            provider: ${format === 'messages' ? 'anthropic' : 'openai'}
            model: ${format === 'responses' ? 'gpt-5-' : ''}${model}
            apiBase: ${gatewayUrl}/v1
            apiKey: \${{ secrets.TOLLGATE_KEY }}
            roles: [chat]
            capabilities: [tool_use]
            defaultCompletionOptions: { contextLength: ${contextTokens}, maxTokens: ${outputTokens} }`,
    },
    // Without an update of itself.
    env: { TOLLGATE_KEY: apiKey, CONTINUE_TELEMETRY_ENABLED: '0', CONTINUE_CLI_AUTO_UPDATED: '1' },
  }),
  invoke: (prompt, _setup, continues) => ({ args: ['--print', '--auto', ...(continues ? ['--resume'] : []), prompt] }),
  callToRead: (filepath) => `call Read ${JSON.stringify({ filepath })}`,
  callToWrite: (filepath, content) => `call Write ${JSON.stringify({ filepath, content })}`,
  // It compacts by `contextLength` alone.
  onOverflow: { stopsWith: /prompt is too long/ },
});
