-- open(clock, row): read what every call needs: the time, whether the base exists, and the settings that this script
-- uses as `ctx.settings.<name>`; or nil and the error to return. lua/tools/opening.py generates which settings these are,
-- and the first values of the fields of call.toml. clock: for a call that may create the base. row: the settings as they
-- are stored, if the caller has read them.
local function open(clock, row)
  row = row or redis.call('HMGET', config, SETTING_NAMES)
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text, CTX_FIELDS }
end
