import 'reflect-metadata';
import { loadConfig } from '#config/load-config.js';
import { CliConfig } from './cli.config.js';
import { connectCli, connectionSettings } from './connection.js';
import { EXIT, runCli } from './run-cli.js';

const output = {
  writeOut: (text: string) => void process.stdout.write(text),
  writeErr: (text: string) => void process.stderr.write(text),
};

// Whoever reads it has read enough, as `head` does: the end of the command, and no fault of it.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(EXIT.done);
  throw error;
});

process.exitCode = await runCli(process.argv.slice(2), output, async () =>
  connectCli(connectionSettings(loadConfig(CliConfig), process.cwd())),
);
