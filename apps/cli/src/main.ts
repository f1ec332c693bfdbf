// Before anything is loaded: the kernel drops what the first process of a container does not handle. Codes as a shell has them.
process.on('SIGTERM', () => process.exit(143));
process.on('SIGINT', () => process.exit(130));

const { loadConfig } = await import('#config/load-config.js');
const { CliConfig } = await import('./cli.config.js');
const { connectCli, connectionSettings } = await import('./connection.js');
const { EXIT, runCli } = await import('./run-cli.js');

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

export {};
