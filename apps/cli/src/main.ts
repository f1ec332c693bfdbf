import 'reflect-metadata';
import { loadConfig } from '#config/load-config.js';
import { CliConfig } from './cli.config.js';
import { connectCli, connectionSettings } from './connection.js';
import { runCli } from './run-cli.js';

const output = {
  writeOut: (text: string) => void process.stdout.write(text),
  writeErr: (text: string) => void process.stderr.write(text),
};

process.exitCode = await runCli(process.argv.slice(2), output, async () =>
  connectCli(connectionSettings(loadConfig(CliConfig), process.cwd())),
);
