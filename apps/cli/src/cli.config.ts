import { IsString } from 'class-validator';

/** Settings of the command line; both empty means: what `npm start` left in `.local/`. */
export class CliConfig {
  @IsString() natsUrl = '';
  @IsString() natsCliPassword = '';
}
