import { testAgent } from './test-agent.js';

/** Its tools for files are shell commands. */
const exec = (cmd: string) => `call exec_command ${JSON.stringify({ cmd })}`;

await testAgent({
  ...{ name: 'Codex CLI', package: '@openai/codex', version: '0.171.0', command: 'codex' },
  formats: ['responses'],
  configure: ({ gatewayUrl, apiKey, model, contextTokens }) => ({
    files: {
      '.codex/config.toml': `
        model = "${model}"
        model_provider = "tollgate"
        model_context_window = ${contextTokens}
        model_auto_compact_token_limit = ${contextTokens - 20_000}
        [model_providers.tollgate]
        name = "Tollgate"
        base_url = "${gatewayUrl}/v1"
        env_key = "TOLLGATE_KEY"
        wire_api = "responses"`,
    },
    env: { TOLLGATE_KEY: apiKey },
  }),
  invoke: (prompt, _setup, continues) => ({
    args: ['exec', '--skip-git-repo-check', '--sandbox', 'danger-full-access', ...(continues ? ['resume', '--last'] : []), '-'],
    input: prompt,
  }),
  callToRead: (path) => exec(`cat '${path}'`),
  callToWrite: (path, text) => exec(`cat > '${path}' <<'END'\n${text}END`),
  // It compacts by `model_auto_compact_token_limit` alone.
  onOverflow: { stopsWith: /ran out of room in the model's context window/ },
  keepsPrompts: true,
});
