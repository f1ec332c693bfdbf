/**
 * Words that people choose most often as the core of a password, in lower case without digits and signs: words for a password, runs of
 * keys, first names, sports, animals, music, places, months, and words of love, in the languages with most accounts. Lists of leaked
 * passwords have no licence that lets a project pass them on, so this one is written for it.
 */
export const COMMON_WORDS: ReadonlySet<string> = new Set(
  `
  password passwords passwort passwd passphrase passcode mypassword mypass thepassword newpassword pass motdepasse contrasena parola senha
  haslo wachtwoord kennwort secret secrets geheim topsecret mysecret private privat access letmein letmeinplease openup opensesame sesame
  welcome willkommen bienvenue bienvenido changeme changemenow changeit change pleasechange default temp temporary test tester testing
  testtest tests demo sample example login logmein signin admin administrator adminadmin root rootroot toor superuser sysadmin user
  username myuser guest gast invite nobody anonymous system service support helpdesk operator manager master office company firma business
  server servers database postgres mysql oracle windows linux ubuntu debian macintosh apple google facebook twitter youtube instagram
  microsoft android samsung iphone nokia sony playstation nintendo xbox internet intranet network wireless wifi router cisco computer
  laptop desktop keyboard monitor printer hacker hacking hackme developer program programmer coding code coder software hardware cloud
  docker kubernetes jenkins github gitlab python java javascript tollgate gateway panel qwerty qwertyui qwertyuiop qwertyuiopasdfghjkl
  qwertz qwertzu qwertzui qwertzuiop azerty azertyui azertyuiop asdf asdfgh asdfghjk asdfghjkl asdfghjklzxcvbnm asdfasdf zxcv zxcvbn
  zxcvbnm yxcvbnm qazwsx qazwsxedc qazwsxedcrfv qweasd qweasdzxc qweqwe qweasdyxc poiuyt poiuytrewq lkjhgfdsa mnbvcxz abc abcd abcde
  abcdef abcdefg abcdefgh abcdefghi abcdefghij abcdefghijkl abcdefghijklmnop abcdefghijklmnopqrstuvwxyz aaa aaaa xxx xxxx zzz iloveyou
  iloveyouso iloveu ilove ilovehim iloveher iloveme ilovegod love lover lovers loveme loveyou lovely mylove mylover truelove firstlove
  forever foreverlove always together kiss kisses kissme hug hugs heart hearts darling honey honeybee sweet sweetheart sweetie sugar baby
  babe babyboy babygirl babydoll angel angels princess princesa prinzessin prince queen king kings daddy daddysgirl mommy mother father
  mama papa mom dad sister brother family friend friends bestfriend bestfriends ichliebedich liebe schatz tequiero teamo amor amour
  jetaime tiamo amore ihateyou hate hateyou sexy sex sexygirl sexyboy hottie cutie beautiful pretty gorgeous handsome hello hellothere
  helloworld hallo hola bonjour ciao goodbye bye whatever nothing something anything everything forgot iforgot remember dontforget whoami
  trustno trustnoone trustme believe imagine dream dreams dreamer hope faith peace freedom liberty justice happy happiness smile smiley
  sunny lucky luckyone winner champion loser crazy stupid idiot monster devil demon satan hell heaven jesus jesuschrist christ god
  godisgood godislove blessed bible church pray prayer grace holy spirit buddha allah islam monkey dragon dragons tiger tigers lion lions
  eagle eagles falcon falcons wolf wolves bear bears panther panthers cobra snake spider butterfly dolphin dolphins shark sharks horse
  horses pony unicorn rabbit bunny kitty kitten cat cats dog dogs doggy puppy chicken duck turtle elephant penguin panda koala squirrel
  hamster fish birdie football soccer baseball basketball hockey volleyball tennis golf golfer rugby cricket wrestling boxing karate
  running swimming skater skateboard surfer surfing snowboard cycling racing formula nascar ferrari porsche mercedes bmw audi toyota honda
  yamaha kawasaki suzuki corvette mustang camaro chevy chevrolet ford harley ducati jaguar liverpool liverpoolfc manchester manutd
  unitedfc united chelsea arsenal tottenham everton celtic rangers barcelona barca realmadrid juventus milan inter bayern dortmund schalke
  ajax feyenoord benfica corinthians flamengo palmeiras boca river yankees redsox cubs dodgers lakers bulls celtics steelers cowboys
  packers raiders broncos patriots giants redskins ronaldo messi beckham jordan kobe superman batman spiderman wonderwoman ironman hulk
  thor loki avengers marvel starwars skywalker vader darthvader yoda startrek matrix neo gandalf frodo hobbit pokemon pikachu charizard
  naruto sasuke goku dragonball sailormoon hellokitty mickey mickeymouse minnie donald disney simpsons bart homer garfield snoopy scooby
  scoobydoo spongebob patrick tinkerbell barbie winnie pooh tigger elmo minecraft fortnite roblox warcraft starcraft diablo zelda mario
  sonic tetris counterstrike callofduty halo sims gamer games game player music guitar piano drums drummer singer dancer dance dancing
  rock rocker rockstar metal metallica slipknot nirvana beatles elvis madonna eminem tupac rihanna beyonce shakira bieber justinbieber
  onedirection blink greenday linkinpark ironmaiden acdc pinkfloyd queenie hiphop reggae summer winter spring autumn fall sommer herbst
  verano invierno season january february march april may june july august september october november december monday tuesday wednesday
  thursday friday saturday sunday weekend holiday holidays christmas xmas halloween easter birthday happybirthday newyear party sunshine
  sun moon moonlight star stars starlight sky skyline rain rainbow snow snowball snowflake storm thunder lightning fire fireman water
  ocean beach island mountain forest garden flower flowers rose roses lily daisy jasmine violet orchid tree nature earth world planet
  space galaxy universe apollo phoenix titan zeus hercules achilles spartan warrior knight ninja samurai pirate pirates cowboy soldier
  army marine marines navy airforce police fireball bullet shadow shadows darkness midnight night blackcat red blue green yellow orange
  purple pink black white silver golden gold diamond diamonds crystal pearl ruby emerald sapphire blackbird bluebird redbull chocolate
  cookie cookies candy cupcake cheese cheesecake pizza burger banana bananas apples cherry strawberry blueberry peach peaches lemon mango
  coconut pepper ginger cinnamon vanilla butter pancake bacon coffee tea beer wine whiskey vodka tequila cocacola pepsi sprite snickers
  america american usa canada mexico brazil brasil argentina colombia chile england scotland ireland london paris france germany
  deutschland berlin hamburg muenchen munich koeln frankfurt austria vienna wien switzerland zurich italy italia roma rome napoli spain
  madrid portugal lisboa holland amsterdam belgium poland polska russia moscow ukraine turkey istanbul greece athens india delhi mumbai
  china beijing japan tokyo korea australia sydney africa egypt newyork boston chicago dallas texas california losangeles hollywood
  lasvegas vegas florida miami denver seattle portland detroit atlanta houston hawaii michael michelle jennifer jessica ashley amanda
  melissa sarah stephanie nicole heather elizabeth rebecca rachel samantha christina christine catherine katherine kathryn kimberly lauren
  megan emily hannah victoria vanessa veronica natalie natasha danielle patricia barbara margaret maria marie mary anna anne annie laura
  linda lisa susan karen nancy sandra sharon donna carol julia julie juliana claudia monica andrea angela angelica angelina alexandra
  alexandria alexis alicia alison bianca brittany brandy caroline carmen cynthia diana erika eva gabriela gabrielle isabella isabelle
  jacqueline jasmin joanna karina katarina kelly kristen kristina leslie lucia mariana marina martina miranda olivia paola paula sabrina
  sabine sandrine silvia simone sophia sofia sophie stella susanne tamara tatiana teresa tiffany valentina valerie viktoria virginia
  vivian yolanda zoe robert william james john david richard charles charlie joseph thomas christopher chris daniel matthew anthony mark
  steven stephen steve paul andrew andreas kenneth george joshua kevin brian edward ronald timothy jason jeffrey ryan gary nicholas
  nicolas eric jacob jonathan larry frank scott justin brandon benjamin samuel gregory alexander alexandre alejandro alex jack dennis
  jerry tyler aaron henry douglas peter pierre pedro adam zachary nathan walter harold kyle carl arthur gerald roger keith jeremy lawrence
  sean christian albert alberto antonio carlos cristian diego eduardo enrique esteban fernando francisco gabriel guillermo gustavo hector
  hernan ivan javier jorge jose juan julian leonardo lorenzo lucas luis manuel marco marcos marcus martin mauricio maurice miguel mohamed
  mohammed muhammad oscar pablo philip philippe rafael ramon raul ricardo roberto rodrigo salvador santiago sebastian sergio stefan sven
  thorsten tobias torsten ulrich victor vincent vladimir wolfgang dieter florian juergen klaus markus maximilian oliver olivier austin
  bailey blake brady buddy buster casey chester cody cooper dakota dexter dustin dylan ethan felix hunter jasper joker logan maggie max
  maxwell merlin molly morgan murphy oreo parker peanut pebbles rascal riley rocky roxy rusty sadie sammy scooter shannon shelby sierra
  simba smokey sparky spike taylor teddy toby tucker winston zorro maverick blaster killer predator terminator gladiator rambo bond
  jamesbond goldeneye godfather scarface mafia gangster ghost vampire twilight zombie magic magical wizard mystery legend legendary hero
  heroes genius einstein newton boss bigboss biggie bigdaddy bigdog playboy thunderbird viper phantom fantasy fantastic awesome excellent
  perfect power powerful energy extreme infinity eternity destiny paradise utopia victory glory honor courage strong strength money dollar
  dollars million millionaire rich bitcoin fuckyou fuckoff bullshit bitch asshole bastard scheisse student students school schule college
  university teacher homework science history english german french spanish biology chemistry physics mathematics library doctor nurse
  lawyer engineer architect pilot driver trucker farmer fishing fisherman camping hiking travel traveler tourist adventure vacation
  airplane rocket engine turbo diesel truck motorcycle bicycle train mustangs bulldog bulldogs wildcats huskies gators longhorn trojans
  spartans vikings saints warriors knights titans jaguars chargers redwings bruins penguins flyers correcthorsebatterystaple
  `
    .trim()
    .split(/\s+/),
);
