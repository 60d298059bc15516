#!/bin/sh
# What an instance does when it starts: a web server with a page. Debian or Ubuntu.
set -e
export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install -y nginx
