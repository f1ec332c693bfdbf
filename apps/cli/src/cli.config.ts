import { IsString } from 'class-validator';

/** Settings of the command line. Without an address or a credential it is read from `.local/` or `.tollgate/`, where `npm start` or `tollgate-server` writes it. */
export class CliConfig {
  @IsString() natsUrl = '';
  @IsString() natsCliPassword = '';
  /** Seed of the NKey of user `cli`, in place of the password. */
  @IsString() natsCliSeed = '';
  /** As of the services: authorities of NATS, and a client certificate with its key. */
  @IsString() natsCaFile = '';
  @IsString() natsCertFile = '';
  @IsString() natsKeyFile = '';
  /** As of the panel: the page of a trace, with `{traceId}` in the place of its id. */
  @IsString() traceUrl = 'none';
}
