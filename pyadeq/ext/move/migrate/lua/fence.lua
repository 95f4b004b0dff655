-- fence.lua: begins each script of this folder. A command that was overtaken by a later one, for instance because its
-- process had stopped for a while, writes nothing more.
--
-- KEYS  about: what is known of the migration, a hash
-- ARGV  fence: the id that the command took when it began, unlike all others

if redis.call('HGET', KEYS[1], 'fence') ~= ARGV[1] then
  return redis.error_reply('OVERTAKEN another command has begun since')
end
local OLDER = 'OLDER the old server has lost data since this command began'  -- for scripts that find that
