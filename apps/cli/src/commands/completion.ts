import type { CliCommand, Values } from '../command.js';
import { renderCompletion, SHELLS } from '../completion-script.js';
import { argument, oneOf } from '../parameters.js';

const PARAMETERS = { shell: argument(oneOf(SHELLS, 'shell'), SHELLS.join(', ')) };

/** Makes the command that prints the completion of all commands, itself included. It asks no service. */
export function completionCommand(commands: () => readonly CliCommand[], groups: Readonly<Record<string, string>>): CliCommand {
  return {
    name: 'completion',
    summary: 'Print a script that completes commands, options and fixed values in a shell',
    parameters: PARAMETERS,
    examples: ['completion bash', 'completion zsh', 'completion fish'],
    async run(values, json) {
      const { shell } = values as Values<typeof PARAMETERS>;
      const script = renderCompletion(shell, commands(), groups);
      return { text: json ? JSON.stringify({ shell, script }, null, 2) : script.trimEnd(), failed: false };
    },
  };
}
