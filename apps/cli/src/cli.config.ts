import { IsString } from 'class-validator';

/** Settings of the command line. If empty, they are read from `.local/`, where `npm start` writes them. */
export class CliConfig {
  @IsString() natsUrl = '';
  @IsString() natsCliPassword = '';
}
