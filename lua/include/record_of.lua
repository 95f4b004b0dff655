-- record_of(conf, rid): the record of a request as this call has left it; false if there is none.
local function record_of(conf, rid)
  if conf.texts[rid] == nil then conf.texts[rid] = redis.call('HGET', requests, rid) end
  return conf.texts[rid]
end
