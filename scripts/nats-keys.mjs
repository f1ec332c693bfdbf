/** Makes the NKeys of the NATS users, and replaces them. */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { writeNatsKeys } from './local/nats-keys.mjs';
import { ROOT } from './local/project.mjs';

const HELP = `node scripts/nats-keys.mjs [--seeds .env] [--users config/nats-keys.conf] [--service name]… [user…]

Writes the seed of each NATS user to a file of variables, and their public keys to the configuration of nats-server.
Without names it makes what is missing, and only the keys of the seeds stay valid. Each named user gets a new seed, and the
key before it stays valid too, so that services can change from one to the other (docs/deployment.md, "NATS keys").
--service adds an internal service that bills items of its own (docs/services.md).
`;

const options = /** @type {const} */ ({
  seeds: { type: 'string' },
  users: { type: 'string' },
  service: { type: 'string', multiple: true },
  help: { type: 'boolean', short: 'h' },
});
try {
  const { values, positionals: renewed } = parseArgs({ options, allowPositionals: true });
  if (values.help) {
    process.stdout.write(HELP);
  } else {
    const { seeds = join(ROOT, '.env'), users = join(ROOT, 'config/nats-keys.conf'), service: services = [] } = values;
    writeNatsKeys({ seedsFile: seeds, usersFile: users, renewed, services });
    console.log(`wrote ${seeds} and ${users}: reload nats-server`);
  }
} catch (error) {
  console.error(/** @type {Error} */ (error).message);
  process.exit(1);
}
