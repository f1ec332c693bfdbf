import { testAgent } from './test-agent.js';

await testAgent({
  ...{ name: 'Claude Code', package: '@anthropic-ai/claude-code', version: '2.1.332', command: 'claude' },
  formats: ['messages'],
  configure: ({ gatewayUrl, apiKey, model, contextTokens, outputTokens }) => ({
    env: {
      ...{ ANTHROPIC_BASE_URL: gatewayUrl, ANTHROPIC_AUTH_TOKEN: apiKey, ANTHROPIC_MODEL: model },
      CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(contextTokens),
      CLAUDE_CODE_MAX_OUTPUT_TOKENS: String(outputTokens),
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    },
  }),
  invoke: (prompt, _setup, continues) => ({
    args: ['--print', '--allowedTools', 'Read,Write', ...(continues ? ['--continue'] : [])],
    input: prompt,
  }),
  callToRead: (path) => `call Read ${JSON.stringify({ file_path: path })}`,
  callToWrite: (path, content) => `call Write ${JSON.stringify({ file_path: path, content })}`,
  onOverflow: 'compacts',
  keepsPrompts: true,
});
