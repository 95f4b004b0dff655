-- settings_digest(): the digest of the stored settings. It is the same for equal settings.
local function settings_digest()
  local row = redis.call('HMGET', config, ALL_SETTINGS)
  for i = 1, #row do row[i] = row[i] or '' end
  return digest_of(table.concat(row, ' '))
end
