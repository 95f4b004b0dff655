-- read_fields(own, names): read these fields of a change in one command, for text_of and number_of.
local function read_fields(own, names)
  local row = redis.call('HMGET', change .. own.id, unpack(names))  -- at most 12: names
  for i, name in ipairs(names) do own[name] = row[i] or '' end
end
