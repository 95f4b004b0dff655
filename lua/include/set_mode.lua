-- set_mode(conf, mode, event): let a queue run, or hold tasks back, or take in no new ones; once for each rid.
local function set_mode(conf, mode, event)
  if done_before(conf, mode) then return end
  if not conf.exists then create_base() end
  note_done(conf, mode, 'done')
  conf.paused = mode == 'paused'
  if (redis.call('HGET', config, 'mode') or 'running') == mode then return end
  redis.call('HSET', config, 'mode', mode)
  emit(conf, event, '-', '')
end
