import { enableCompileCache } from 'node:module';
import { join } from 'node:path';

// Installed before anything is loaded: the kernel drops unhandled signals to the first process of a container. Exit codes as in a shell.
process.on('SIGTERM', () => process.exit(143));
process.on('SIGINT', () => process.exit(130));
// Beside the program, where only its owner can write: the code in it is run. Without the right to write it is left out.
enableCompileCache(join(import.meta.dirname, 'compile-cache'));

void main();

async function main(): Promise<void> {
  const { requireNode } = await import('#config/version.js');
  requireNode();
  const { EXIT, runCli } = await import('./run-cli.js');
  const output = {
    writeOut: (text: string) => void process.stdout.write(text),
    writeErr: (text: string) => void process.stderr.write(text),
  };
  // The reader closed the pipe, as `head` does. That is no failure.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(EXIT.done);
    throw error;
  });
  process.exitCode = await runCli(process.argv.slice(2), output, async () => {
    // Only a command that asks a service needs the client of NATS.
    const { connectCli, connectionSettings } = await import('./connection.js');
    const { loadConfig } = await import('#config/load-config.js');
    const { CliConfig } = await import('./cli.config.js');
    return connectCli(connectionSettings(loadConfig(CliConfig), process.cwd()));
  });
}
