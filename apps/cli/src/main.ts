// Installed before anything is loaded: the kernel drops unhandled signals to the first process of a container. Exit codes as in a shell.
process.on('SIGTERM', () => process.exit(143));
process.on('SIGINT', () => process.exit(130));

const { requireNode } = await import('#config/version.js');
requireNode();
const { loadConfig } = await import('#config/load-config.js');
const { CliConfig } = await import('./cli.config.js');
const { connectCli, connectionSettings } = await import('./connection.js');
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

process.exitCode = await runCli(process.argv.slice(2), output, async () =>
  connectCli(connectionSettings(loadConfig(CliConfig), process.cwd())),
);

export {};
