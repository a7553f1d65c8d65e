int sinew_no_plugin_at_all(void);
int sinew_no_plugin_at_all(void)
{
    return 1;
}
